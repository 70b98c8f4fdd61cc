import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_AGAIN_MS = 100;

/**
 * One set-up of this checkout at a time; another waits for it. The lock is a folder that holds one file, named by its owner's process id.
 * A dead owner's lock is taken over.
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
    await sleep(LOOK_AGAIN_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/**
 * @param {string} lock
 * @returns {boolean} whether it is ours now
 */
function take(lock) {
  const own = join(lock, String(process.pid));
  try {
    mkdirSync(lock);
    writeFileSync(own, '');
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  try {
    const [owner] = readdirSync(lock);
    if (owner === undefined || isAlive(Number(owner))) return false;
    // If several find the owner dead, only one of them can rename it.
    renameSync(join(lock, owner), own);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return false; // another was faster
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== 'ESRCH'; // EPERM: it is another user's
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
