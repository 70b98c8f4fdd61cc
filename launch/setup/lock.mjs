import { mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * One set-up of this checkout at a time; another waits for it. The lock is a symbolic link that leads nowhere
 * and names its owner's process: link and name are made in one step. A dead owner's lock is taken over.
 * @template T
 * @param {string} root
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSetupLock(root, work) {
  const lock = join(root, '.cache', 'setup.lock');
  mkdirSync(dirname(lock), { recursive: true });
  for (let told = false; !take(lock); told = true) {
    if (!told) console.error(`waiting for another set-up of this folder; if there is none, delete ${lock}`);
    await sleep(100);
  }
  try {
    return await work();
  } finally {
    rmSync(lock);
  }
}

/**
 * @param {string} lock
 * @returns {boolean} whether it is ours now
 */
function take(lock) {
  try {
    symlinkSync(String(process.pid), lock);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  try {
    process.kill(Number(readlinkSync(lock)), 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') {
      rmSync(lock, { force: true });
      return take(lock);
    }
  }
  return false;
}

/** @param {unknown} error */
const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined);
