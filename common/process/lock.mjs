import { readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Takes a lock between processes. It is a symbolic link that leads nowhere and names its holder as `<pid>@<host>`:
 * link and name are made in one step. If the holder is a process of this machine and has ended, its lock is taken
 * over. JavaScript, because the set-up takes one before there is a build.
 * @param {string} path
 * @returns {(() => void) | undefined} releases it; undefined: another process has it
 */
export function takeLock(path) {
  if (!link(path)) {
    if (!isDead(lockHolder(path))) return undefined;
    // One after the other: what a second one removes could be the first one's new lock.
    const release = takeLock(`${path}.takeover`);
    if (release === undefined) return undefined;
    if (isDead(lockHolder(path))) rmSync(path);
    release();
    if (!link(path)) return undefined;
  }
  return () => rmSync(path, { force: true });
}

/**
 * @param {string} path
 * @returns {string | undefined} who has it: `<pid>@<host>`
 */
export function lockHolder(path) {
  try {
    return readlinkSync(path);
  } catch {
    // It was released meanwhile.
    return undefined;
  }
}

/**
 * @param {string} path
 * @returns {boolean} whether it is ours now
 */
function link(path) {
  try {
    symlinkSync(`${process.pid}@${hostname()}`, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string | undefined} holder */
function isDead(holder) {
  const [pid, host] = holder?.split('@') ?? [];
  if (host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    // Any other code is of one that lives and belongs to somebody else.
    return codeOf(error) === 'ESRCH';
  }
}

/** @param {unknown} error */
const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined);
