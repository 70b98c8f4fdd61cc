import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { packageRoot } from '../../common/package-root.ts';
import { countErrors, errorRatePercent, spokenCharacters } from '../eval/error-rate.ts';
import { readSet, recipeSets, setsIn } from '../eval/sets.ts';

describe('character error rate', () => {
  it.each([
    ['你好吗', '你好吗', 0],
    ['你好吗', '你好', 1],
    ['你好', '你好吗', 1],
    ['你好吗', '您好吗', 1],
    ['你好吗', '好吗你', 2],
    ['你好吗', '', 3],
    ['', '啊', 1],
    ['天气预报', '今天的天气', 4],
  ])('counts the edits between "%s" and "%s" as %i', (truth, heard, wrong) => {
    expect(countErrors(truth, heard)).toEqual({ wrong, total: [...truth].length });
  });

  it('ignores punctuation, spaces, case and width', () => {
    expect(spokenCharacters('你好,世界!OK１2。')).toEqual([...'你好世界ok12']);
    expect(countErrors('他说:“ABC”。', '他说abc').wrong).toBe(0);
  });

  it('counts a character outside the basic plane once', () => {
    expect(countErrors('𠮷野家', '吉野家')).toEqual({ wrong: 1, total: 3 });
  });

  it('is a percentage of what was said, 0 for silence heard as silence', () => {
    expect(errorRatePercent({ wrong: 1, total: 8 })).toBe(12.5);
    expect(errorRatePercent({ wrong: 0, total: 0 })).toBe(0);
    expect(errorRatePercent({ wrong: 2, total: 0 })).toBe(Number.POSITIVE_INFINITY);
  });
});

async function setOf(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'asr-set-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await copyFile(join(packageRoot(), 'test', 'fixtures', 'e00.wav'), join(folder, 'e00.wav'));
  await writeFile(join(folder, 'text.tsv'), text);
  return folder;
}

it.each([
  ['as this project writes it', 'e00.wav\t你好\n'],
  ['as editors on Windows write it', '\uFEFFe00.wav\t你好\r\n'],
])('a set is read whose text.tsv is %s', async (_how, text) => {
  const folder = await setOf(text);
  expect(await readSet(folder)).toMatchObject([{ name: 'e00.wav', truth: '你好' }]);
});

it('a recording that cannot be used is named', async () => {
  const folder = await setOf('e00.wav\t你好\nnotes.wav\t你好\n');
  await writeFile(join(folder, 'notes.wav'), 'no sound');
  await expect(readSet(folder)).rejects.toThrow(`${join(folder, 'notes.wav')}: not a WAV file`);
});

it.each(['e00.wav', '\t你好'])(
  'a line that names no recording or has no text is shown: "%s"',
  async (line) => {
    const folder = await setOf(`${line}\n`);
    await expect(readSet(folder)).rejects.toThrow(`text.tsv: "${line}" is not file<TAB>text`);
  },
);

it('a set without a recording is no set without an error', async () => {
  const folder = await setOf('\n');
  await expect(readSet(folder)).rejects.toThrow(`${join(folder, 'text.tsv')} is empty`);
});

it('a folder without a set is no set without an error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'asr-set-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await expect(setsIn(folder)).rejects.toThrow(`${folder} has no text.tsv, and no folder in it has one`);
});

it('the sets of the recipe are made once, in the folder that WORK names', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'asr-set-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv('WORK', folder);
  vi.stubEnv('PYTHON', 'false');
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(recipeSets()).rejects.toThrow('the sets could not be made: see above;');
  await mkdir(join(folder, 'eval', 'people'), { recursive: true });
  await writeFile(join(folder, 'eval', 'people', 'text.tsv'), '');
  expect(await recipeSets()).toContain(join(folder, 'eval', 'synthetic'));
});

it('a Python that is not there is named, with what to do', async () => {
  vi.stubEnv('WORK', join(tmpdir(), 'asr-no-such-folder'));
  vi.stubEnv('PYTHON', '/no/such/python3');
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(recipeSets()).rejects.toThrow(
    /^the sets could not be made: \/no\/such\/python3 does not run .*PYTHON names another one.* models\/training\/README\.md/,
  );
});
