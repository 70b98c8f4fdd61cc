import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from './quiet-run.mjs';

const RENEW_MS = 5_000;
const STALE_MS = 30_000;
const LOOK_AGAIN_MS = 100;

/**
 * One set-up of this checkout at a time; another waits for it. The lock is a file that names its holder's process; it counts no more when that
 * process is gone, or has not renewed the file for half a minute (a process id that was given out again).
 * @template T
 * @param {string} root
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSetupLock(root, work) {
  const folder = join(root, '.cache');
  // Not `recursive`: Node would say of a read-only disk that the folder is not there.
  await mkdir(folder).catch((error) => {
    if (!hasCode(error, 'EEXIST')) throw error;
  });
  const path = join(folder, 'setup.lock');
  const own = `${process.pid} ${randomUUID()}\n`;
  let waiting = false;
  while (!(await create(path, own))) {
    const holder = await holderOf(path);
    if (holder === undefined) continue; // released meanwhile
    if (holder.stale) await putAside(path, holder.content);
    else {
      if (!waiting) say(`waiting for another set-up of this folder (process ${holder.pid}) ...`);
      waiting = true;
      await sleep(LOOK_AGAIN_MS);
    }
  }
  // A renewal that fails only lets the file age; the next one tries again.
  const renewal = setInterval(() => utimes(path, new Date(), new Date()).catch(() => {}), RENEW_MS);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    // Another's, if this one stood still for so long that it was taken over.
    if ((await holderOf(path))?.content === own) await rm(path, { force: true });
  }
}

/**
 * @param {string} path
 * @param {string} content
 * @returns {Promise<boolean>} false when there is one already
 */
async function create(path, content) {
  // Written aside and linked, so that nobody ever reads a lock that is not complete.
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, content);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** @param {string} path */
async function holderOf(path) {
  try {
    const content = await readFile(path, 'utf8');
    const ageMs = Date.now() - (await stat(path)).mtimeMs;
    const pid = Number.parseInt(content, 10);
    return { content, pid, stale: ageMs > STALE_MS || !isAlive(pid) };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Of several that find the same dead lock only one can rename it. One that comes too late and renames the next holder's puts that back.
 * @param {string} path
 * @param {string} deadContent
 */
async function putAside(path, deadContent) {
  const aside = `${path}.dead.${process.pid}`;
  try {
    await rename(path, aside);
    if ((await readFile(aside, 'utf8')) !== deadContent) await link(aside, path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && !hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM'); // it lives, but belongs to somebody else
  }
}

/**
 * @param {unknown} error
 * @param {string} code
 */
function hasCode(error, code) {
  return error instanceof Error && 'code' in error && error.code === code;
}
