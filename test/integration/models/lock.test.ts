import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import fs, { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ModelFailure } from '../../../models/failure.ts';
import { acquireLock, type HeldLock } from '../../../models/lock.ts';

/** What a function of `fs` does until the test is over, in all modules; `real` is what it would have done. */
function replace(
  name: 'readFile' | 'stat' | 'writeFile',
  by: (file: string, real: () => Promise<unknown>) => Promise<unknown>,
): void {
  const original = fs[name];
  const own = (...call: unknown[]) => by(String(call[0]), () => Reflect.apply(original, fs, call));
  Object.assign(fs, { [name]: own });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { [name]: original });
    syncBuiltinESMExports();
  });
}

describe("a model's lock", () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'asr-lock-'));
    path = join(folder, 'small.lock');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const plant = (holder: { pid: number; host: string }): Promise<void> =>
    writeFile(path, JSON.stringify({ ...holder, since: '2026-01-01T00:00:00.000Z', token: 'planted' }));
  const age = (seconds: number): Promise<void> =>
    utimes(path, Date.now() / 1000 - seconds, Date.now() / 1000 - seconds);

  /** @returns what lets that many milliseconds pass for renewals, of which a stale lock may have missed five */
  const fakeIntervals = (): ((ms: number) => void) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    return (ms) => void vi.advanceTimersByTime(ms);
  };

  it('is held by one, and free after release', async () => {
    const lock = await acquireLock(path);
    await expect(acquireLock(path)).rejects.toThrow(ModelFailure);
    await expect(acquireLock(path)).rejects.toThrow(
      new RegExp(
        `^process ${process.pid} on ${hostname()}, since .*, is working on this model \\(lock .*small\\.lock\\): wait until it has finished$`,
      ),
    );
    await lock.release();
    await (await acquireLock(path)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes to exactly one of many that want it at once', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => acquireLock(path)));
    const held = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(held).toHaveLength(1);
    await held[0]?.value.release();
  });

  it('is taken at once from a process that is dead', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    await plant({ pid: child.pid ?? 0, host: hostname() });
    const lock = await acquireLock(path);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ pid: process.pid });
    await lock.release();
  });

  it('is not taken from a living process of another user', async () => {
    await plant({ pid: 1, host: hostname() });
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    });
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(acquireLock(path)).rejects.toThrow(/^process 1 on /);
  });

  it('does not stay behind where a full disk took the file without its content', async () => {
    replace('writeFile', async (file) => {
      closeSync(openSync(file, 'wx'));
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
    });
    await expect(acquireLock(path)).rejects.toThrow('ENOSPC');
    expect(existsSync(path)).toBe(false);
  });

  it('goes to exactly one of many that find it stale', async () => {
    await plant({ pid: 1, host: 'elsewhere' });
    await age(60);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => acquireLock(path)));
    const held = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(held).toHaveLength(1);
    await held[0]?.value.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not taken from another one that took it over meanwhile', async () => {
    await plant({ pid: 1, host: 'elsewhere' });
    await age(60);
    let other: Promise<HeldLock> | undefined;
    replace('writeFile', async (file, real) => {
      // The slow one has seen that it is stale, and the fast one is done before it goes on.
      if (other === undefined && file === `${path}.takeover`) {
        other = acquireLock(path);
        await other;
      }
      return real();
    });
    await expect(acquireLock(path)).rejects.toThrow(/is working on this model/);
    await (await other)?.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not taken from another one that came when it was just released', async () => {
    await plant({ pid: 1, host: 'elsewhere' });
    await age(60);
    let other: Promise<HeldLock> | undefined;
    replace('stat', async (_file, real) => {
      if (other !== undefined || !existsSync(`${path}.takeover`)) return real();
      await rm(path);
      const gone = real();
      await gone.catch(() => undefined);
      other = acquireLock(path);
      await other;
      return gone;
    });
    await expect(acquireLock(path)).rejects.toThrow(/is working on this model/);
    await (await other)?.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not blocked for ever by a process that died while it took a stale lock over', async () => {
    await plant({ pid: 1, host: 'elsewhere' });
    await age(31);
    await writeFile(`${path}.takeover`, '');
    await expect(acquireLock(path)).rejects.toThrow(/is working on this model/);
    await utimes(`${path}.takeover`, 1, 1);
    await expect(acquireLock(path)).rejects.toThrow(/is working on this model/);
    await (await acquireLock(path)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('of another machine is respected while it is renewed, and taken when it is not', async () => {
    // Higher than any process id of this machine.
    await plant({ pid: 2 ** 22 + 1, host: 'elsewhere' });
    await age(25);
    await expect(acquireLock(path)).rejects.toThrow(/^process 4194305 on elsewhere, since 2026/);
    await age(31);
    await (await acquireLock(path)).release();
  });

  it('with a reused process id, or damaged, is taken when nobody renews it', async () => {
    await plant({ pid: process.pid, host: hostname() });
    await age(31);
    await (await acquireLock(path)).release();
    await writeFile(path, '{"pi');
    await expect(acquireLock(path)).rejects.toThrow(/another process is working/);
    await age(31);
    await (await acquireLock(path)).release();
  });

  it('is renewed while it is held', async () => {
    const passes = fakeIntervals();
    const lock = await acquireLock(path);
    await age(31);
    passes(10_000);
    await expect.poll(async () => Date.now() - (await stat(path)).mtimeMs).toBeLessThan(10_000);
    await expect(acquireLock(path)).rejects.toThrow(/is working on this model/);
    await lock.release();
  });

  it('is renewed the next time when the disk did not let it', async () => {
    const passes = fakeIntervals();
    const lock = await acquireLock(path);
    await age(31);
    let failures = 0;
    replace('readFile', (_file, real) => {
      if (failures > 0) return real();
      failures += 1;
      throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'read' });
    });
    passes(5_000);
    await expect.poll(() => failures).toBe(1);
    passes(5_000);
    await expect.poll(async () => Date.now() - (await stat(path)).mtimeMs).toBeLessThan(10_000);
    await lock.release();
  });

  it('tells a holder that lost it, and is not released by that one', async () => {
    const passes = fakeIntervals();
    const lock = await acquireLock(path);
    const lost = once(lock.lost, 'abort');
    await plant({ pid: 1, host: 'elsewhere' });
    passes(10_000);
    await lost;
    expect(lock.lost.reason).toBeInstanceOf(ModelFailure);
    await lock.release();
    expect(existsSync(path)).toBe(true);
  });
});
