import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../common/package-root.ts';
import { wavFile } from '../support/wav.ts';

/** `npm run eval` on sets of recordings in which nothing is said. */
async function evalOf(sets: Record<string, readonly string[]>, mostFiles = 1024) {
  const folder = await mkdtemp(join(tmpdir(), 'asr-sets-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [set, lines] of Object.entries(sets)) {
    await mkdir(join(folder, set));
    await writeFile(join(folder, set, 'text.tsv'), lines.map((name) => `${name}\t好\n`).join(''));
    for (const name of lines.filter((name) => name !== 'missing.wav')) {
      await writeFile(join(folder, set, name), wavFile(Buffer.alloc(3200)));
    }
  }
  const program = [process.execPath, join(packageRoot(), 'dist', 'test', 'eval', 'main.js')];
  const limited = [
    '-c',
    `ulimit -n ${mostFiles}; exec "$@"`,
    'sh',
    ...program,
    '--no-pairs',
    '--sets',
    folder,
  ];
  const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { folder, stdout, stderr, code };
}

it('a set may have more recordings than a process may have files open', async () => {
  const names = Array.from({ length: 100 }, (_, i) => `${i}.wav`);
  const { stdout, stderr, code } = await evalOf({ large: names }, 64);
  expect(stderr).toBe('');
  expect(stdout).toContain('100 of 100 characters in 100 recordings');
  expect(code).toBe(0);
});

it('what was measured is told where a later set fails', async () => {
  const { folder, stdout, stderr, code } = await evalOf({ good: ['0.wav'], wrong: ['missing.wav'] });
  expect(stdout).toMatch(/^\ncharacter error rate\nbundled +good +100\.0 % .*\n$/);
  expect(stderr).toContain(join(folder, 'wrong', 'missing.wav'));
  expect(code).toBe(1);
});
