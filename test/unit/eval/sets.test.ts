import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSet, setsIn } from '../../eval/sets.ts';
import { testFolder } from '../../support/folders.ts';
import { wavFile } from '../../support/wav.ts';

const PCM = Buffer.from([1, 2, 3, 4]);

/** A folder with a.wav and these texts. */
async function setOf(texts: string): Promise<string> {
  const folder = testFolder();
  await writeFile(join(folder, 'a.wav'), wavFile(PCM));
  await writeFile(join(folder, 'texts.tsv'), texts);
  return folder;
}

it.each([
  ['has two columns', 'file\ttext\na.wav\t你好\n'],
  ['has more columns', 'file\ttext\tsource\tlicence\na.wav\t你好\there\tnone\n'],
  ['is as editors on Windows write it', '\uFEFFfile\ttext\r\na.wav\t你好\r\n'],
  ['ends without a line feed', 'file\ttext\na.wav\t你好'],
])('a set is read whose texts.tsv %s', async (_how, texts) => {
  expect(await readSet(await setOf(texts))).toEqual([{ name: 'a.wav', truth: '你好', pcm: PCM }]);
});

it('a recording in which nothing is said has an empty text', async () => {
  expect(await readSet(await setOf('file\ttext\na.wav\t\n'))).toMatchObject([{ truth: '' }]);
});

it.each([
  ['no header', 'a.wav\t你好\n', 'begins with "a.wav\t你好": write the header file<TAB>text above'],
  ['nothing in it', '\n', 'begins with "": write the header file<TAB>text above'],
  ['columns in another order', 'text\tfile\n你好\ta.wav\n', 'begins with "text\tfile": write the header'],
  ['no recording', 'file\ttext\n', 'names no recording: write a line file<TAB>text for each'],
  ['a line without a text', 'file\ttext\na.wav\n', 'texts.tsv: "a.wav" is not file<TAB>text'],
  ['a line without a file', 'file\ttext\n\t你好\n', 'texts.tsv: "\t你好" is not file<TAB>text'],
])('a texts.tsv with %s is refused', async (_what, texts, message) => {
  const folder = await setOf(texts);
  await expect(readSet(folder)).rejects.toThrow(join(folder, 'texts.tsv'));
  await expect(readSet(folder)).rejects.toThrow(message);
});

it('a recording that cannot be used is named', async () => {
  const folder = await setOf('file\ttext\na.wav\t你好\nnotes.wav\t你好\n');
  await writeFile(join(folder, 'notes.wav'), 'no sound');
  await expect(readSet(folder)).rejects.toThrow(`${join(folder, 'notes.wav')}: The file is not WAV`);
});

it('a folder is a set, or has sets in it, which come in the order of their names', async () => {
  const folder = testFolder();
  const sets = ['b', 'a', 'not'].map((name) => join(folder, name));
  for (const set of sets) await mkdir(set);
  const [b = '', a = ''] = sets;
  for (const set of [a, b]) await writeFile(join(set, 'texts.tsv'), 'file\ttext\n');
  expect(await setsIn(folder)).toEqual([a, b]);
  expect(await setsIn(a)).toEqual([a]);
});

it('a folder without a set is refused', async () => {
  const folder = testFolder();
  await expect(setsIn(folder)).rejects.toThrow(`${folder} has no texts.tsv, and no folder in it has one`);
});

it('a set of the form without a header is refused with what to do, alone or among others', async () => {
  const folder = testFolder();
  const [good, old] = [join(folder, 'good'), join(folder, 'old')];
  for (const set of [good, old]) await mkdir(set);
  await writeFile(join(good, 'texts.tsv'), 'file\ttext\n');
  await writeFile(join(old, 'text.tsv'), 'a.wav\t你好\n');
  const message = `${join(old, 'text.tsv')} has the old form: rename it to texts.tsv and write file<TAB>text above its first line`;
  await expect(setsIn(old)).rejects.toThrow(message);
  await expect(setsIn(folder)).rejects.toThrow(message);
});
