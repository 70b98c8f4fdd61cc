import { randomUUID } from 'node:crypto';
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ModelFailure } from './failure.ts';
import { isMissing, parseRecord } from './store.ts';

const STALE_AFTER_MS = 30_000;
const RENEW_EVERY_MS = 5_000;

/**
 * One process at a time works on a model's files. The lock is a file beside them: made exclusively, its time renewed while the holder lives.
 * It is free again when its holder on this machine is dead, or when nobody renewed it for `STALE_AFTER_MS` (other machine, reused process id).
 */
export interface HeldLock {
  /** Aborts when another process took the lock over, which happens only after this one stood still for `STALE_AFTER_MS`. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly token: string;
}

/** @throws ModelFailure when another process holds it. */
export async function acquireLock(path: string): Promise<HeldLock> {
  const holder: Holder = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    token: randomUUID(),
  };
  if ((await create(path, JSON.stringify(holder))) || (await takeOver(path, holder)))
    return keep(path, holder);
  const other = (await read(path))?.holder;
  const who =
    other === undefined ? 'another process' : `process ${other.pid} on ${other.host}, since ${other.since},`;
  throw new ModelFailure(`${who} is working on this model (lock ${path}): wait until it has finished`);
}

/** @returns false when the file is there already. */
async function create(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    // A full disk takes the file and not its content: that would be a lock of nobody's.
    if (error instanceof Error && 'syscall' in error && error.syscall === 'write') await rm(path);
    throw error;
  }
}

/**
 * Puts our lock in the place of a stale one. A second file makes sure that only one process does so at a time: otherwise a slow one could
 * delete the new lock of a fast one. Made and deleted within milliseconds, it is itself stale if it is ever as old as a stale lock.
 */
async function takeOver(path: string, holder: Holder): Promise<boolean> {
  if (!isStale(await read(path))) return false;
  const guard = `${path}.takeover`;
  if (!(await create(guard, ''))) {
    if (((await read(guard))?.ageMs ?? 0) >= STALE_AFTER_MS) await rm(guard, { force: true });
    return false;
  }
  try {
    const found = await read(path);
    if (!isStale(found)) return false;
    // One that is gone needs no room made for ours; the file that may have come since is another process's lock.
    if (found !== undefined) await rm(path, { force: true });
    return await create(path, JSON.stringify(holder));
  } finally {
    await rm(guard, { force: true });
  }
}

/** A lock that is gone counts as stale: its holder released it meanwhile. */
function isStale(lock: FoundLock | undefined): boolean {
  if (lock === undefined || lock.ageMs >= STALE_AFTER_MS) return true;
  return lock.holder !== undefined && lock.holder.host === hostname() && !isAlive(lock.holder.pid);
}

function keep(path: string, holder: Holder): HeldLock {
  const lost = new AbortController();
  const renew = async (): Promise<void> => {
    const current = await read(path);
    if (current?.holder?.token === holder.token) {
      const now = new Date();
      await utimes(path, now, now);
    } else {
      lost.abort(
        new ModelFailure(
          `another process took over the lock ${path}: this one stood still for too long; run the command again`,
        ),
      );
    }
  };
  // A renewal that fails (disk error) only lets the lock age; the next one tries again.
  const timer = setInterval(() => void renew().catch(() => undefined), RENEW_EVERY_MS);
  return {
    lost: lost.signal,
    release: async () => {
      clearInterval(timer);
      if ((await read(path))?.holder?.token === holder.token) await rm(path, { force: true });
    },
  };
}

interface FoundLock {
  readonly holder: Holder | undefined;
  readonly ageMs: number;
}

/** @returns undefined when there is no lock; `holder` is undefined while it is being written, or when it is damaged. */
async function read(path: string): Promise<FoundLock | undefined> {
  try {
    const ageMs = Date.now() - (await stat(path)).mtimeMs;
    return { holder: parseHolder(await readFile(path, 'utf8')), ageMs };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function parseHolder(text: string): Holder | undefined {
  const { pid, host, since, token } = parseRecord(text);
  const isWhole = typeof pid === 'number' && typeof host === 'string' && typeof since === 'string';
  return isWhole && typeof token === 'string' ? { pid, host, since, token } : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, but belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
