import { readlink, rm, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ModelFailure } from '../failure.ts';

/**
 * Keeps other processes from a model's files. The lock is a symbolic link that leads nowhere. It names its
 * holder as `<pid>@<host>`: link and name are made in one step. If the holder is a process of this machine
 * and dead, its lock is taken over.
 * @returns what releases the lock.
 * @throws ModelFailure when another process holds it.
 */
export async function acquireLock(path: string): Promise<() => Promise<void>> {
  const holder = await readlink(path).catch(() => undefined);
  if (holder !== undefined && isDead(holder)) await rm(path, { force: true });
  try {
    await symlink(`${process.pid}@${hostname()}`, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw new ModelFailure(
      `${holder === undefined ? 'another process' : `process ${holder}`} is working on this model: wait until it has finished; if it is gone, delete ${path}`,
    );
  }
  return () => rm(path, { force: true });
}

function isDead(holder: string): boolean {
  const [pid, host] = holder.split('@');
  if (host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    // Any other code is of one that lives and belongs to somebody else.
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
