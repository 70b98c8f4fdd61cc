import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startRedis } from '../../../common/launch/embedded-redis.ts';

test.each(['quotes " and \\', 'spaces 语音', 'a line break\nappendonly yes', 'a tab\tand a bell\u0007'])(
  'works in a folder whose name has %j',
  async (name) => {
    const parent = await realpath(await mkdtemp(join(tmpdir(), 'asr-redis-')));
    onTestFinished(() => rm(parent, { recursive: true }));
    const folder = join(parent, name);
    await mkdir(folder);
    const server = await startRedis({ folder });
    onTestFinished(() => server.stop());
    const client = new Redis(server.url);
    onTestFinished(() => client.disconnect());
    expect(await client.config('GET', 'dir')).toEqual(['dir', folder]);
    // No recording ever reaches a disk, or another machine.
    expect(await client.config('GET', 'save')).toEqual(['save', '']);
    expect(await client.config('GET', 'appendonly')).toEqual(['appendonly', 'no']);
    expect(await client.config('GET', 'bind')).toEqual(['bind', '127.0.0.1']);
    expect(await client.config('GET', 'maxmemory')).toEqual(['maxmemory', String(256 * 2 ** 20)]);
  },
);

/** A program in place of the redis-server on PATH, which is `$real`. */
async function replaceServer(script: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'asr-redis-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const program = join(folder, 'redis-server');
  const { PATH } = process.env;
  await writeFile(
    program,
    `#!/bin/sh\nreal() { PATH='${PATH}'; exec redis-server "$@"; }\ncd '${folder}'\n${script}\n`,
  );
  await chmod(program, 0o755);
  process.env['PATH'] = `${folder}:${PATH}`;
  onTestFinished(() => {
    process.env['PATH'] = PATH;
  });
  return folder;
}

test('a port that another program took in between is no failure: it takes another one', async () => {
  const taken = '[ -e tried ] || { touch tried; echo "bind: Address already in use"; exit 1; }';
  const folder = await replaceServer(`${taken}\nreal "$@"`);
  const server = await startRedis({ folder });
  onTestFinished(() => server.stop());
  const client = new Redis(server.url);
  onTestFinished(() => client.disconnect());
  expect(await client.ping()).toBe('PONG');
});

test('one that does not start is said with its own last words, and is not tried for ever', async () => {
  const folder = await replaceServer('echo >> tries; echo "bind: Address already in use" >&2; exit 1');
  await expect(startRedis({ folder })).rejects.toThrow(
    'redis-server does not start (exit code 1)\nbind: Address already in use',
  );
  expect(await readFile(join(folder, 'tries'), 'utf8')).toBe('\n'.repeat(5));
});

test('one that never gets ready is given up and ended, and is nobody any more', async () => {
  const folder = await replaceServer('echo $$ > new; mv new pid; exec sleep 60');
  const tooLate = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(tooLate.signal);
  onTestFinished(() => timeout.mockRestore());
  const pids: unknown[] = [];
  const starting = startRedis({ folder, onPid: (pid) => pids.push(pid) });
  const failure = expect(starting).rejects.toThrow('redis-server does not start (not ready within 10000 ms)');
  const pid = await vi.waitFor(() => readFile(join(folder, 'pid'), 'utf8').then(Number), { timeout: 9_000 });
  tooLate.abort();
  await failure;
  expect(pids).toEqual([pid, undefined]);
  const runs = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await expect.poll(runs).toBe(false);
});

test('no shell to be had is a start that failed', async () => {
  const { PATH } = process.env;
  process.env['PATH'] = '/no/such/folder';
  onTestFinished(() => {
    process.env['PATH'] = PATH;
  });
  await expect(startRedis({ folder: '.' })).rejects.toThrow('it cannot be run: spawn sh ENOENT');
});

test.each(['stopped', 'killed'])(
  'behind a script that waits for it, it goes when that is %s',
  async (how) => {
    const folder = await replaceServer('(real "$@")\nexit 1');
    const server = await startRedis({ folder });
    onTestFinished(() => server.stop());
    if (how === 'stopped') server.stop();
    else process.kill(server.pid, 'SIGKILL');
    await server.ended;
    await expect.poll(() => listens(server.address.port)).toBe(false);
  },
);

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const answer = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return answer;
}
