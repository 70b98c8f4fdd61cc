import { spawn } from 'node:child_process';
import { once } from 'node:events';

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
 * @returns {Promise<string | undefined>} how it failed
 */
export async function run(file, args, { env = process.env, output = 'ignore' } = {}) {
  const child = spawn(file, args, { env, stdio: ['ignore', output === 'stderr' ? 2 : 'ignore', 'inherit'] });
  try {
    const [status, signal] = await once(child, 'close');
    return status === 0 ? undefined : (signal ?? `exit code ${status}`);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Says what is done: in a terminal each second for how long, elsewhere in one plain line.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @param {{ plain?: boolean }} [options]  false: nothing without a terminal
 * @returns {Promise<T>}
 */
export async function shown(what, work, { plain = true } = {}) {
  const { stderr } = process;
  if (!stderr.isTTY) {
    if (plain) stderr.write(`${what} ...\n`);
    return await work();
  }
  const startedAtMs = Date.now();
  // What the program itself says comes over this line, not behind it.
  const show = () =>
    void stderr.write(`\x1b[K${what} ... ${Math.round((Date.now() - startedAtMs) / 1_000)} s\r`);
  show();
  const timer = setInterval(show, 1_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    stderr.write('\x1b[K');
  }
}
