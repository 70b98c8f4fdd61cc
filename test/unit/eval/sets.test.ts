import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSet } from '../../eval/sets.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { testFolder } from '../../support/machine/folders.ts';

const PCM = Buffer.from([1, 2, 3, 4]);

/** A folder with a.wav, notes.wav, which is none, and these texts. */
async function setOf(texts: string): Promise<string> {
  const folder = testFolder();
  await writeFile(join(folder, 'a.wav'), wavFile(PCM));
  await writeFile(join(folder, 'notes.wav'), 'no sound');
  await writeFile(join(folder, 'texts.tsv'), texts);
  return folder;
}

it('a set is read as docs/models.md describes it, and as editors on Windows write it', async () => {
  for (const texts of ['file\ttext\na.wav\t你好\n', '\uFEFFfile\ttext\tsource\r\na.wav\t你好\there\r\n'])
    expect(await readSet(await setOf(texts))).toEqual([{ name: 'a.wav', truth: '你好', pcm: PCM }]);
});

it.each([
  ['a.wav\t你好\n', 'texts.tsv begins with "a.wav\t你好": write the header file<TAB>text above'],
  ['file\ttext\n', 'texts.tsv names no recording: write a line file<TAB>text for each'],
  ['file\ttext\na.wav\n', 'texts.tsv: "a.wav" is not file<TAB>text'],
  ['file\ttext\nnotes.wav\t你好\n', 'notes.wav: The file is not WAV'],
])('a set with the texts %j is refused with what is wrong where', async (texts, message) => {
  const folder = await setOf(texts);
  await expect(readSet(folder)).rejects.toThrow(join(folder, message));
});
