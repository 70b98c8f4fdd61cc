import { spawnSync } from 'node:child_process';

/** The set-up cannot go on. `message` is for the screen as it is. */
export class SetupFailure extends Error {
  /** @override */
  name = 'SetupFailure';
}

/**
 * Runs a program of the set-up to its end and shows its standard error. Our standard output belongs to the
 * program that follows the set-up. It stays in this process group, so that Ctrl-C ends both.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, output?: 'ignore' | 'stderr' }} [options]  where its standard output goes (default: nowhere)
 * @returns {string | undefined} how it failed
 */
export function run(file, args, { env = process.env, output = 'ignore' } = {}) {
  const stdio = /** @type {const} */ (['ignore', output === 'stderr' ? 2 : 'ignore', 'inherit']);
  const { error, signal, status } = spawnSync(file, args, { env, stdio: [...stdio] });
  if (error !== undefined) return error.message;
  return status === 0 ? undefined : (signal ?? `exit code ${status}`);
}
