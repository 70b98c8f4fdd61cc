import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startRedis } from '../../../../launch/supervisor/embedded-redis.ts';
import { testFolder } from '../../../support/machine/folders.ts';

test('no recording ever reaches a disk, or another machine; a server in its place is found by its clients', async () => {
  const first = await startRedis();
  first.finish();
  expect(await first.ended).toEqual({ how: 'SIGKILL', final: false });
  const server = await startRedis(first.address);
  onTestFinished(() => server.kill());
  const client = new Redis(first.url);
  onTestFinished(() => client.disconnect());
  for (const [name, value] of [
    ['save', ''],
    ['appendonly', 'no'],
    ['bind', '127.0.0.1'],
    ['maxmemory', String(256 * 2 ** 20)],
    // A dump that lies in this folder is not loaded.
    ['dbfilename', expect.stringMatching(/^none-[0-9a-f]{16}$/)],
  ] as const)
    expect(await client.config('GET', name)).toEqual([name, value]);
});

test('only who knows its password gets in', async () => {
  const server = await startRedis();
  onTestFinished(() => server.kill());
  const stranger = new Redis(server.address.port, '127.0.0.1', { retryStrategy: () => null });
  onTestFinished(() => stranger.disconnect());
  stranger.on('error', () => {});
  await expect(stranger.get('anything')).rejects.toThrow('NOAUTH');
});

/** @returns the folder that is the whole PATH now, with a program in place of redis-server */
async function replaceServer(script: string): Promise<string> {
  const folder = testFolder();
  const program = join(folder, 'redis-server');
  const { PATH } = process.env;
  await writeFile(program, `#!/bin/sh\ncd '${folder}'\nPATH='${PATH}'\n${script}\n`);
  await chmod(program, 0o755);
  process.env['PATH'] = folder;
  onTestFinished(() => {
    process.env['PATH'] = PATH;
  });
  return folder;
}

test('one that does not start is said with its own last words', async () => {
  await replaceServer('echo "bind: Address already in use" >&2; exit 1');
  await expect(startRedis()).rejects.toThrow(
    'redis-server does not start (exit code 1)\nbind: Address already in use',
  );
});

test('one that never gets ready is given up and ended', async () => {
  const folder = await replaceServer('echo $$ > new; mv new pid; exec sleep 60');
  const tooLate = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(tooLate.signal);
  onTestFinished(() => timeout.mockRestore());
  const starting = startRedis();
  const failure = expect(starting).rejects.toThrow('redis-server does not start (not ready within 10000 ms)');
  const pid = await vi.waitFor(() => readFile(join(folder, 'pid'), 'utf8').then(Number), { timeout: 9_000 });
  tooLate.abort();
  await failure;
  const runs = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await expect.poll(runs).toBe(false);
});

test('no program to be had is a start that failed', async () => {
  await rm(join(await replaceServer(''), 'redis-server'));
  await expect(startRedis()).rejects.toThrow('it cannot be run: spawn redis-server ENOENT');
});
