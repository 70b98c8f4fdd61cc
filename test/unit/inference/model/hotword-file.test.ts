import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import pino from 'pino';
import { expect, test } from 'vitest';
import { ConfigError } from '../../../../common/config/config-error.ts';
import { HotwordFile } from '../../../../inference/model/hotword-file.ts';
import { fileFolder } from '../../../support/folders.ts';

const workDir = fileFolder();

function fileWith(content: string | Uint8Array): { path: string; file: HotwordFile; lines: () => string } {
  const path = join(mkdtempSync(join(workDir, 'list-')), 'names.txt');
  writeFileSync(path, content);
  const stream = new PassThrough();
  let logged = '';
  stream.on('data', (line: Buffer) => {
    logged += line.toString();
  });
  return { path, file: new HotwordFile(path, pino({}, stream)), lines: () => logged };
}

const phrases = async (file: HotwordFile): Promise<string[]> =>
  (await file.current()).map(({ phrase }) => phrase);

test('a changed file counts from the next time on, and the log says how many phrases it has, never one', async () => {
  const { path, file, lines } = fileWith('语音\n识别\n海');
  await file.load();
  const before = await file.current();
  expect(before.map(({ phrase }) => phrase)).toEqual(['语音', '识别']);
  expect(await file.current()).toBe(before);
  expect(lines()).toContain('"phrases":2,"ignored":{"one character":1}');
  // As editors and config maps replace files: another one takes the name.
  writeFileSync(`${path}.new`, '净利润\n');
  renameSync(`${path}.new`, path);
  expect(await phrases(file)).toEqual(['净利润']);
  expect(lines()).not.toMatch(/语音|净利润/);
  expect(lines().match(/nats a character/g)).toHaveLength(1);
});

test('a list without a phrase that can be used is a warning', async () => {
  const { file, lines } = fileWith('海\n');
  await file.load();
  expect(lines()).toMatch(/"level":40.*"phrases":0,"ignored":\{"one character":1\}/);
});

test('a change that cannot be read keeps the list before, and warns once', async () => {
  const { path, file, lines } = fileWith('语音\n');
  await file.load();
  const warnings = (): number => lines().split('"level":40').length - 1;
  rmSync(path);
  expect(await phrases(file)).toEqual(['语音']);
  expect(await phrases(file)).toEqual(['语音']);
  expect(warnings()).toBe(1);
  writeFileSync(path, Uint8Array.of(0xd3, 0xef, 0xd2, 0xf4));
  expect(await phrases(file)).toEqual(['语音']);
  expect(warnings()).toBe(2);
  writeFileSync(path, '识别');
  expect(await phrases(file)).toEqual(['识别']);
});

test.each([
  [
    'is missing',
    undefined,
    /^ASR_HOTWORDS=".*": cannot be read \(ENOENT.*\): name a file in UTF-8 with one phrase a line$/,
  ],
  [
    'is not UTF-8',
    Uint8Array.of(0xd3, 0xef),
    /^ASR_HOTWORDS=".*": cannot be read \(The encoded data was not valid.*\): name a file/,
  ],
])('a file that %s is a wrong setting', async (_what, content, message) => {
  const { path, file } = fileWith(content ?? '');
  if (content === undefined) rmSync(path);
  await expect(file.load()).rejects.toThrow(ConfigError);
  await expect(file.load()).rejects.toThrow(message);
});
