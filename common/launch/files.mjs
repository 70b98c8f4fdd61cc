import { statfs } from 'node:fs/promises';

const LITTLE_MB = 100;

/**
 * @template T
 * @param {Promise<T>} reading
 * @returns {Promise<T | undefined>} undefined when there is no such file
 */
export async function ifThere(reading) {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw error;
  }
}

/**
 * @param {string} folder
 * @returns {Promise<string>} what to add to the words for a failure there: nothing, unless its disk is nearly full
 */
export async function roomWords(folder) {
  const disk = await ifThere(statfs(folder));
  const megabytes = disk === undefined ? LITTLE_MB : Math.floor((disk.bavail * disk.bsize) / 2 ** 20);
  return megabytes < LITTLE_MB ? `The disk of ${folder} has only ${megabytes} MB left: make room. ` : '';
}

/**
 * @param {unknown} error
 * @param {string} root
 * @param {string | undefined} program  what was to run, from the project's folder
 * @returns {string | undefined} the line for a person when a file could not be read or written
 */
export function fileWords(error, root, program) {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return undefined;
  switch (error.code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `the set-up must be able to write in ${root} (${error.message}): give that folder to this user, or make a clone of your own.${program?.startsWith('dist/') ? ` Where it is set up already, "node ${program}" starts without writing there.` : ''}`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `the disk of ${root} is full (${error.message}): make room, then give the same command again.`;
    default:
      return undefined;
  }
}
