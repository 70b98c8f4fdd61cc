import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../common/package-root.ts';
import { wavFile } from '../support/wav.ts';

const PROGRAM = join(packageRoot(), 'dist', 'test', 'eval', 'main.js');

/** A folder with sets of recordings in which nothing is said. */
async function folderOf(sets: Record<string, readonly string[]>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'asr-sets-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [set, lines] of Object.entries(sets)) {
    await mkdir(join(folder, set));
    await writeFile(join(folder, set, 'text.tsv'), lines.map((name) => `${name}\t好\n`).join(''));
    for (const name of lines.filter((name) => name !== 'missing.wav')) {
      await writeFile(join(folder, set, name), wavFile(Buffer.alloc(3200)));
    }
  }
  return folder;
}

async function evalOf(sets: Record<string, readonly string[]>, mostFiles = 1024) {
  const folder = await folderOf(sets);
  const command = [process.execPath, PROGRAM, '--no-pairs', '--sets', folder];
  const limited = ['-c', `ulimit -n ${mostFiles}; exec "$@"`, 'sh', ...command];
  const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { folder, stdout, stderr, code };
}

it('a set may have more recordings than a process may have files open', async () => {
  const names = Array.from({ length: 64 }, (_, i) => `${i}.wav`);
  const { stdout, stderr, code } = await evalOf({ large: names }, 64);
  expect(stderr).toBe('');
  expect(stdout).toContain('64 of 64 characters in 64 recordings');
  expect(code).toBe(0);
});

it('what was measured is told where a later set fails', async () => {
  const { folder, stdout, stderr, code } = await evalOf({ good: ['0.wav'], wrong: ['missing.wav'] });
  expect(stdout).toMatch(/^\ncharacter error rate\nbundled +good +100\.0 % .*\n$/);
  expect(stderr).toContain(join(folder, 'wrong', 'missing.wav'));
  expect(code).toBe(1);
});

it('ends in silence when nobody reads its answer any more', async () => {
  const folder = await folderOf({ good: ['0.wav', '1.wav'] });
  const child = spawn(process.execPath, [PROGRAM, '--sets', folder], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect(said).toBe('');
  expect(code).toBe(0);
});
