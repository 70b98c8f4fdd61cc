import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFile,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../../../../common/config/config-error.ts';
import { HotwordFile } from '../../../../../inference/engine/postprocessing/hotword-file.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';

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

/**
 * Lets every file of this process hang, as those of a network disk that is dead do: each of the threads that
 * Node reads files with waits for a pipe that nobody writes to. @returns what ends this, also twice
 */
function hangDisk(): () => void {
  const folder = mkdtempSync(join(workDir, 'disk-'));
  const pipes = [1, 2, 3, 4].map((number) => join(folder, `pipe-${number}`));
  execFileSync('mkfifo', pipes);
  for (const pipe of pipes) readFile(pipe, () => undefined);
  return () => {
    for (const pipe of pipes) closeSync(openSync(pipe, 'r+'));
  };
}

test('a changed file counts from the next time on, and the log says how many phrases it has, never one', async () => {
  const { path, file, lines } = fileWith('语音\n识别\n海');
  await file.load();
  const before = await file.current();
  expect(before.map(({ phrase }) => phrase)).toEqual(['语音', '识别']);
  expect(await file.current()).toBe(before);
  expect(lines()).toContain('"phrases":2,"ignored":{"one character":{"lines":1,"first":[3]}}');
  // As editors and config maps replace files: another one takes the name.
  writeFileSync(`${path}.new`, '净利润\n');
  renameSync(`${path}.new`, path);
  expect(await phrases(file)).toEqual(['净利润']);
  expect(lines()).not.toMatch(/语音|净利润/);
  expect(lines().match(/nats a character/g)).toHaveLength(1);
});

test('a list of which every line is ignored is an error, with the first ten numbers of lines', async () => {
  const { file, lines } = fileWith('海\n'.repeat(12));
  await file.load();
  expect(lines()).toMatch(/"level":50.*"phrases":0,"ignored":\{"one character":/);
  expect(lines()).toContain('{"lines":12,"first":[1,2,3,4,5,6,7,8,9,10]}');
});

test('an empty list is a warning', async () => {
  const { file, lines } = fileWith('\n');
  await file.load();
  expect(lines()).toMatch(/"level":40.*"phrases":0,"ignored":\{\}/);
});

test('lines with a weight of FunASR are counted', async () => {
  const { file, lines } = fileWith('周杰伦 20\n');
  await file.load();
  expect(lines()).toMatch(/"level":30.*"phrases":1,"ignored":\{\},"withoutTheirWeight":1/);
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

// A pipe that nobody writes to never opens. Of /dev/zero a process took 14 GB.
test.each([
  ['a pipe', (path: string) => execFileSync('mkfifo', [path]), 'it is no regular file'],
  ['a device', (path: string) => symlinkSync('/dev/zero', path), 'it is no regular file'],
  [
    'a file of 17 MB',
    (path: string) => {
      writeFileSync(path, '');
      truncateSync(path, 17_000_000);
    },
    'it has 17000000 bytes, and at most 16777216 are read',
  ],
])('%s in its place keeps the list before', async (_what, replace, reason) => {
  const { path, file, lines } = fileWith('语音\n');
  await file.load();
  rmSync(path);
  replace(path);
  const startedAtMs = performance.now();
  expect(await phrases(file)).toEqual(['语音']);
  expect(performance.now() - startedAtMs).toBeLessThan(900);
  expect(lines()).toContain(`"reason":"${reason}"`);
  await expect(new HotwordFile(path, pino({ level: 'silent' })).load()).rejects.toThrow(reason);
});

test('a disk that hangs keeps the list before, is looked at once, and counts when it is back', async () => {
  const { path, file, lines } = fileWith('语音\n');
  await file.load();
  writeFileSync(path, '识别\n');
  const looks = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'FSReqPromise').length;
  const release = hangDisk();
  onTestFinished(release);
  const before = looks();
  const startedAtMs = performance.now();
  expect(await phrases(file)).toEqual(['语音']);
  expect(performance.now() - startedAtMs).toBeLessThan(2_000);
  expect(lines().match(/its disk has not answered within 1 s/g)).toHaveLength(1);
  expect(looks()).toBe(before + 1);
  // No recording waits again, nor begins another look.
  const againAtMs = performance.now();
  expect(await phrases(file)).toEqual(['语音']);
  expect(performance.now() - againAtMs).toBeLessThan(500);
  expect(looks()).toBe(before + 1);
  release();
  await expect.poll(() => phrases(file)).toEqual(['识别']);
  expect(lines().match(/"level":40/g)).toHaveLength(1);
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
