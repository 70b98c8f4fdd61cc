import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { freePort } from '../../common/launch/ports.ts';
import { packageRoot } from '../../common/package-root.ts';
import { writeQuickModel } from '../onnx/model-folder.ts';
import { fullPipe } from '../support/full-pipe.ts';
import { childrenOf, startLaunched, stillRunning, tidy } from './launched.ts';

const pids = new Set<number>();
const folders: string[] = [];

afterEach(async () => {
  await tidy(pids, ...folders.splice(0));
  pids.clear();
});

async function quickModel(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'asr-launch-model-'));
  folders.push(folder);
  writeQuickModel(folder);
  return folder;
}

/** @returns a program that writes its number to `<program>.pid`, and a PATH on which it is `redis-server` */
async function redisThatNeverStarts(): Promise<{ program: string; path: string }> {
  const bin = await mkdtemp(join(tmpdir(), 'asr-launch-bin-'));
  folders.push(bin);
  const program = join(bin, 'redis-server');
  await writeFile(program, '#!/bin/sh\necho $$ > "$0.new"; mv "$0.new" "$0.pid"; exec sleep 60\n');
  await chmod(program, 0o755);
  return { program, path: `${bin}:${process.env['PATH']}` };
}

test('killed while Redis starts, it leaves no process and no file', { timeout: 30_000 }, async () => {
  const { program, path } = await redisThatNeverStarts();
  const { launched, temp } = await startLaunched({ ASR_PORT: '0', PATH: path });
  folders.push(temp);
  pids.add(launched.pid);
  const redis = await vi.waitFor(() => readFile(`${program}.pid`, 'utf8').then(Number), { timeout: 9_000 });
  pids.add(redis);
  process.kill(launched.pid, 'SIGKILL');
  await launched.ended;
  await expect.poll(() => stillRunning([redis]), { timeout: 8_000 }).toEqual([]);
  await expect.poll(() => readdir(temp)).toEqual([]);
});

test('killed before it has told which process Redis is, it leaves none', { timeout: 30_000 }, async () => {
  const { path } = await redisThatNeverStarts();
  const module = pathToFileURL(join(packageRoot(), 'dist/common/launch/embedded-redis.js')).href;
  const script = `
    import { writeSync } from 'node:fs';
    import { startRedis } from '${module}';
    const onPid = (pid) => {
      writeSync(1, String(pid));
      process.kill(process.pid, 'SIGKILL');
    };
    await startRedis({ folder: '.', onPid });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [told] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const redis = Number(told);
  pids.add(redis);
  expect(redis).toBeGreaterThan(0);
  await expect.poll(() => stillRunning([redis]), { timeout: 8_000 }).toEqual([]);
});

test('Ctrl-C leaves no file when the shell that would clean up was killed', { timeout: 30_000 }, async () => {
  const { launched, temp } = await startLaunched({ ASR_PORT: '0', ASR_MODEL: await quickModel() });
  folders.push(temp);
  pids.add(launched.pid);
  await launched.line('Ctrl-C stops everything');
  const children = await childrenOf(launched.pid);
  for (const { pid } of children) pids.add(pid);
  const shell = children.find(({ command }) => command.includes('asr-orphan-watch'));
  if (shell === undefined) throw new Error(`no such shell among ${JSON.stringify(children)}`);
  process.kill(shell.pid, 'SIGKILL');
  process.kill(launched.pid, 'SIGINT');
  expect(await launched.ended).toBe(0);
  expect(await readdir(temp)).toEqual([]);
  expect(await stillRunning([...pids])).toEqual([]);
});

test('a reader of its output that stands still does not keep it from ending', {
  timeout: 30_000,
}, async () => {
  const port = await freePort();
  const env = { ASR_PORT: String(port), ASR_MODEL: await quickModel() };
  const { launched, temp } = await startLaunched(env, fullPipe());
  folders.push(temp);
  pids.add(launched.pid);
  const alive = () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok);
  await expect.poll(() => alive().catch(() => false), { timeout: 10_000 }).toBe(true);
  process.kill(launched.pid, 'SIGTERM');
  expect(await launched.ended).toBe(0);
  expect(await readdir(temp)).toEqual([]);
});
