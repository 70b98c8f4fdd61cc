import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { spokenCharacters } from '../eval/error-rate.ts';
import { DEFAULT_SET, readSet } from '../eval/sets.ts';
import { fixture, SMALL_CTC } from '../support/fixtures.ts';
import { testFolder } from '../support/folders.ts';
import { wavFile } from '../support/wav.ts';

const SETS = new URL('../../dist/test/eval/sets.js', import.meta.url).href;
const PROGRAM = join(packageRoot(), 'dist', 'test', 'eval', 'main.js');

/** A quick one: how well it hears is no matter here. */
const MODEL = SMALL_CTC;

/** A folder with sets of recordings in which nothing is said. */
async function folderOf(sets: Record<string, readonly string[]>): Promise<string> {
  const folder = testFolder();
  for (const [set, names] of Object.entries(sets)) {
    await mkdir(join(folder, set));
    const lines = ['file\ttext', ...names.map((name) => `${name}\t好`), ''];
    await writeFile(join(folder, set, 'texts.tsv'), lines.join('\n'));
    for (const name of names.filter((name) => name !== 'missing.wav')) {
      await writeFile(join(folder, set, name), wavFile(Buffer.alloc(3200)));
    }
  }
  return folder;
}

const evalOf = (...options: string[]) => runOf([PROGRAM, MODEL, ...options]);

/** Runs Node.js until it ends. */
async function runOf(options: readonly string[], mostFiles = 1024) {
  const limited = ['-c', `ulimit -n ${mostFiles}; exec "$@"`, 'sh', process.execPath, ...options];
  const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, code };
}

it('without options measures recordings of real people, which streams hear as uploads do', async () => {
  const recordings = await readSet(DEFAULT_SET);
  expect(recordings.every(({ truth, pcm }) => truth !== '' && pcm.byteLength > 32_000)).toBe(true);
  const characters = recordings.flatMap(({ truth }) => spokenCharacters(truth)).length;
  const { stdout, stderr, code } = await evalOf('--all');
  expect(stderr).toBe('');
  const [heading, ...lines] = stdout.split('\n');
  expect(heading).toBe(`${MODEL} on real-speech, 12 recordings`);
  for (const { truth } of recordings) expect(lines).toContain(`  said    ${truth}`);
  const [uploads = '', streams = ''] = lines.slice(-4);
  expect(uploads).toMatch(/^uploads +\d+\.\d % /);
  expect(uploads).toContain(`of ${characters} characters wrong), `);
  expect(uploads).toContain(' of 12 recordings right, ');
  expect(streams).toMatch(/^streams .*, longest update \d+ ms, 0 with another text than the upload$/);
  expect(code).toBe(0);
});

it('a set may have more recordings than a process may have files open', async () => {
  const folder = await folderOf({ large: Array.from({ length: 64 }, (_, i) => `${i}.wav`) });
  const read = `const { readSet } = await import(${JSON.stringify(SETS)});
    console.log((await readSet(${JSON.stringify(join(folder, 'large'))})).length);`;
  const { stdout, stderr } = await runOf(['--input-type=module', '--eval', read], 64);
  expect(stderr).toBe('');
  expect(stdout).toBe('64\n');
});

it('what was measured is told where a later set fails', async () => {
  const folder = await folderOf({ good: ['0.wav'], wrong: ['missing.wav'] });
  const { stdout, stderr, code } = await evalOf('--recordings', folder);
  expect(stdout).toContain(`${MODEL} on good, 1 recording\n100.0 % (1 of 1)  0.wav\n  said    好\n`);
  expect(stdout).toContain('uploads 100.0 % (1 of 1 characters wrong), 0 of 1 recordings right');
  expect(stderr).toContain(join(folder, 'wrong', 'missing.wav'));
  expect(code).toBe(1);
});

it('shows only the figures where no table is wanted', async () => {
  const folder = await folderOf({ good: ['0.wav'] });
  const { stdout, code } = await evalOf('--no-table', '--recordings', folder);
  const [heading = '', uploads = '', streams = '', ...rest] = stdout.split('\n');
  expect(heading).toContain('on good, 1 recording');
  expect(uploads).toContain('uploads 100.0 %');
  expect(streams).toContain('streams 100.0 %');
  expect(rest).toEqual(['', '']);
  expect(code).toBe(0);
});

it('recognizes each set without a list of hot words and with it', async () => {
  const folder = await folderOf({ a: [], b: [] });
  // What is heard sounds the same: 眼睛.
  for (const set of ['a', 'b']) {
    await writeFile(join(folder, set, 'e03.wav'), fixture('e03').wav);
    await writeFile(join(folder, set, 'texts.tsv'), 'file\ttext\ne03.wav\t汤姆的眼镜是蓝色的\n');
  }
  await writeFile(join(folder, 'hotwords.txt'), '汤姆的眼镜\n好\n');
  const { stdout, stderr, code } = await evalOf(
    ...['--no-table', '--recordings', folder, '--hotwords', join(folder, 'hotwords.txt')],
  );
  expect(stderr).toBe('');
  const [list, ...lines] = stdout.split('\n');
  expect(list).toBe('hot words: 1 phrase, 1 ignored (1 × one character)');
  const phrases = 'phrases 0 of 1 right without the list, 1 with it, 0 lost, 0 false';
  const right = expect.stringContaining('  0.0 % (0 of 9 characters wrong)');
  const ofSet = (set: string) => [`${MODEL} on ${set}, 1 recording`, right, right, phrases, ''];
  expect(lines).toEqual([...ofSet('a'), ...ofSet('b'), '']);
  expect(code).toBe(0);
});

it('an option that there is no more ends it with the options that there are', async () => {
  const { stderr, code } = await evalOf('--sets', 'recordings');
  expect(stderr).toContain("Unknown option '--sets'");
  expect(stderr).toContain('--recordings FOLDER');
  expect(code).toBe(64);
});

it('ends in silence when nobody reads its answer any more', async () => {
  const child = spawn(process.execPath, [PROGRAM, MODEL], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect(said).toBe('');
  expect(code).toBe(0);
});
