import { spawn } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The set-up cannot go on. `message` is for the screen as it is. */
export class SetupFailure extends Error {
  /** @override */
  name = 'SetupFailure';
}

/** A signal came while a program of the set-up ran, and that program has ended. */
export class Interrupted extends Error {
  /** @override */
  name = 'Interrupted';
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }
}

/** SIGHUP: the terminal was closed. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Set-up speaks on standard error: standard output belongs to the program that follows.
 * @param {string} line
 */
export function say(line) {
  console.error(line);
}

/**
 * Runs a program to its end without showing what it prints.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ ok: boolean, ending: string, output: string }>} `ending` says how it ended; `output` is all that it printed
 * @throws {Interrupted}
 */
export async function quietRun(file, args, options = {}) {
  // A process group of its own, so that a signal reaches all of it exactly once: npm does not pass one on to the scripts that it runs.
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  /** @type {Buffer[]} */
  const pieces = [];
  child.stdout.on('data', (piece) => pieces.push(piece));
  child.stderr.on('data', (piece) => pieces.push(piece));
  /** @type {NodeJS.Signals | undefined} */
  let interruptedBy;
  /** @param {NodeJS.Signals} signal */
  const interrupt = (signal) => {
    interruptedBy = signal;
    const runs = child.exitCode === null && child.signalCode === null;
    if (runs && child.pid !== undefined) process.kill(-child.pid, signal);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  const watch = endWithUs(child.pid);
  /** @type {string} */
  const ending = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  watch.release();
  // Node tells of a signal when it next waits for events, and drops one that has no listener by then. The first turn may come before that.
  await nextTurn();
  await nextTurn();
  for (const signal of SIGNALS) process.off(signal, interrupt);
  if (interruptedBy !== undefined) throw new Interrupted(interruptedBy);
  return { ok: ending === 'exit code 0', ending, output: Buffer.concat(pieces).toString() };
}

/**
 * Should this process be killed, nobody holds the lock any more: the program must not write on beside the next set-up. A shell waits for a
 * line from us, and ends the program's group when the pipe closes without one.
 * @param {number | undefined} group
 */
function endWithUs(group) {
  // The compiler finishes after SIGTERM, as if it had not come.
  const script = 'read -r line || { kill -TERM "-$1"; sleep 1; kill -KILL "-$1"; }';
  const shell = spawn('sh', ['-c', script, 'asr-setup-watch', `${group}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  return { release: () => shell.stdin.end('done\n') };
}

/**
 * @param {string} output
 * @param {number} count
 */
export function lastLines(output, count) {
  return output.trimEnd().split('\n').slice(-count).join('\n');
}
