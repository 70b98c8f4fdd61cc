import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../../common/package-root.ts';

const MODULE = pathToFileURL(join(packageRoot(), 'dist/common/launch/orphan-watch.js')).href;

/** A process that ends when it is told to, and not before. */
function longRunning(): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test('of a supervisor that was killed, servers that stay are given five seconds, then they go, then Redis and the folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'asr-orphan-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = mkdtempSync(join(tmpdir(), 'asr-orphan-bin-'));
  onTestFinished(() => rmSync(bin, { recursive: true }));
  // It sleeps no time, and says for how long it was to.
  const slept = join(bin, 'slept');
  writeFileSync(join(bin, 'sleep'), `#!/bin/sh\necho "$1" >> '${slept}'\n`);
  chmodSync(join(bin, 'sleep'), 0o755);
  mkdirSync(join(folder, 'redis'));
  const [server, redis] = [longRunning(), longRunning()];
  const ends = [once(server, 'exit'), once(redis, 'exit')];
  const script = `
    import { startOrphanWatch } from "${MODULE}";
    startOrphanWatch('${folder}').update({ redis: ${redis.pid}, servers: [${server.pid}] });
    setImmediate(() => console.log('told'));`;
  const supervisor = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: `${bin}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(supervisor.stdout, 'data');
  supervisor.kill('SIGKILL');
  for (const [, signal] of await Promise.all(ends)) expect(signal).toBe('SIGKILL');
  await expect.poll(() => existsSync(folder)).toBe(false);
  expect(readFileSync(slept, 'utf8')).toBe('0.1\n'.repeat(50));
});

test('a Redis that is the child of a script goes with it', async () => {
  const script = `
    import { spawn } from 'node:child_process';
    import { startOrphanWatch } from "${MODULE}";
    const redis = spawn('sh', ['-c', 'sleep 1000 & echo $!; wait'], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    startOrphanWatch('/no/such/folder').update({ redis: redis.pid, servers: [] });
    redis.stdout.on('data', (pid) => console.log(String(pid)));`;
  const supervisor = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [pid] = await once(supervisor.stdout, 'data');
  onTestFinished(() => void (isThere(Number(pid)) && process.kill(Number(pid), 'SIGKILL')));
  supervisor.kill('SIGKILL');
  await expect.poll(() => isThere(Number(pid))).toBe(false);
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
