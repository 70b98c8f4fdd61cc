import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { ModelFailure } from './failure.ts';
import { isMissing, parseJson } from './store.ts';

/**
 * One process at a time works on a model's files. The lock is a file beside them: made exclusively, its time renewed while the holder lives.
 * It is free again when its holder on this machine is dead, or when nobody renewed it for `staleAfterMs` (other machine, reused process id).
 */
export interface HeldLock {
  /** Aborts when another process took the lock over, which happens only after this one stood still for `staleAfterMs`. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

export interface LockOptions {
  readonly staleAfterMs?: number;
  readonly renewEveryMs?: number;
}

const holderSchema = Type.Object({
  pid: Type.Number(),
  host: Type.String(),
  since: Type.String(),
  token: Type.String(),
});
type Holder = Type.Static<typeof holderSchema>;

/** @throws ModelFailure when another process holds it. */
export async function acquireLock(path: string, options: LockOptions = {}): Promise<HeldLock> {
  const staleAfterMs = options.staleAfterMs ?? 30_000;
  const holder: Holder = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    token: randomUUID(),
  };
  // Twice: once more after a stale lock was put away. A second refusal means that somebody else was faster.
  for (let attempt = 0; attempt < 2; attempt++) {
    if (await create(path, holder)) return keep(path, holder, options.renewEveryMs ?? 5_000);
    await putAwayIfStale(path, staleAfterMs);
  }
  throw new ModelFailure(
    `another process is working on this model (lock ${path}): wait until it has finished`,
  );
}

async function create(path: string, holder: Holder): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    try {
      await file.writeFile(JSON.stringify(holder));
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

async function putAwayIfStale(path: string, staleAfterMs: number): Promise<void> {
  const current = await read(path);
  if (current === undefined) return; // released meanwhile
  const { holder, ageMs } = current;
  const dead = holder !== undefined && holder.host === hostname() && !isAlive(holder.pid);
  if (!dead && ageMs < staleAfterMs) {
    const who =
      holder === undefined
        ? 'another process'
        : `process ${holder.pid} on ${holder.host}, since ${holder.since},`;
    throw new ModelFailure(`${who} is working on this model (lock ${path}): wait until it has finished`);
  }
  // Of several that see the same stale lock only one can rename it; if it was replaced in between, the new holder notices in `renew`.
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  await rm(aside, { force: true });
}

function keep(path: string, holder: Holder, renewEveryMs: number): HeldLock {
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
      clearInterval(timer);
    }
  };
  // A renewal that fails (disk error) only lets the lock age; the next one tries again.
  const timer = setInterval(() => void renew().catch(() => undefined), renewEveryMs);
  timer.unref();
  return {
    lost: lost.signal,
    release: async () => {
      clearInterval(timer);
      if ((await read(path))?.holder?.token === holder.token) await rm(path, { force: true });
    },
  };
}

/** @returns undefined when there is no lock; `holder` is undefined while it is being written, or when it is damaged. */
async function read(path: string): Promise<{ holder: Holder | undefined; ageMs: number } | undefined> {
  try {
    const ageMs = Date.now() - (await stat(path)).mtimeMs;
    const parsed = parseJson(await readFile(path, 'utf8'));
    return { holder: Value.Check(holderSchema, parsed) ? parsed : undefined, ageMs };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
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
