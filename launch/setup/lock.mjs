import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../../common/process/lock.mjs';

/**
 * One set-up of this checkout at a time; another waits for it.
 * @template T
 * @param {string} root
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSetupLock(root, work) {
  const lock = join(root, '.cache', 'setup.lock');
  mkdirSync(dirname(lock), { recursive: true });
  let release = takeLock(lock);
  if (release === undefined)
    console.error(`waiting for another set-up of this folder; if there is none, delete ${lock}`);
  for (; release === undefined; release = takeLock(lock)) await sleep(100);
  try {
    return await work();
  } finally {
    release();
  }
}
