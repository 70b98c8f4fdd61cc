import { setTimeout as delay } from 'node:timers/promises';
import { errorName } from '../errors/errors.ts';
import type { Logger, ProcessLogger } from './log.ts';

export interface ShutdownStep {
  readonly name: string;
  run(): Promise<unknown>;
}

/** npm and systemd pass on a signal that has reached us already; a person who means a second one takes longer. */
export const SAME_SIGNAL_MS = 500;
/** How long the last lines of the log, and files that are being read, may take at the end of the process. */
const LAST_FILES_MS = 2_000;
const FILES_POLL_MS = 10;

/** SIGHUP, too, where it means nothing else: the terminal was closed. */
type EndingSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP';

/**
 * Ends the process on the first of the signals, or when the supervisor that holds our IPC channel is gone. It
 * runs the steps in order, waits at most `drainMs` for all of them, and logs every step that failed. It exits
 * with 0 if all went well, with 1 otherwise. A second signal exits at once.
 * @param forced how it ends if it does not wait any longer, see endProcess
 * @returns what is aborted with the first signal: from then on nothing more is to be started
 */
export function shutdownOnSignal(
  signals: readonly EndingSignal[],
  log: ProcessLogger,
  drainMs: number,
  steps: () => readonly ShutdownStep[],
  forced: () => 1 | 'SIGKILL' = () => 1,
): AbortSignal {
  const stopping = new AbortController();
  let stoppingSinceMs: number | undefined;
  const stop = (reason: string): void => {
    if (stoppingSinceMs !== undefined) {
      if (performance.now() - stoppingSinceMs < SAME_SIGNAL_MS) return;
      log.warn({ reason }, 'second signal: exiting at once');
      void endProcess(log, forced());
      return;
    }
    stoppingSinceMs = performance.now();
    stopping.abort();
    log.info({ reason }, 'shutting down');
    const force = setTimeout(() => {
      log.error({ drainMs }, 'not drained in time: exiting');
      void endProcess(log, forced());
    }, drainMs);
    runSteps(log, steps()).then((failures) => {
      clearTimeout(force);
      log.info({ failures }, 'stopped');
      void endProcess(log, failures === 0 ? 0 : 1);
    });
  };
  for (const signal of signals) process.on(signal, stop);
  process.on('disconnect', () => stop('supervisor gone'));
  return stopping.signal;
}

/**
 * Ends the process in bounded time. Node itself waits for ever for a pipe that nobody reads, for a file on a
 * disk that hangs, and for a thread in native code, such as a model run that hangs.
 * @param log none if it has not been opened. @param how the exit code, or SIGKILL where there may be such a thread
 */
export async function endProcess(log: ProcessLogger | undefined, how: number | 'SIGKILL'): Promise<void> {
  const kill = () => process.kill(process.pid, 'SIGKILL');
  setTimeout(kill, LAST_FILES_MS);
  await log?.written();
  if (how === 'SIGKILL') kill();
  else {
    while (process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq')))
      await delay(FILES_POLL_MS);
    process.exit(how);
  }
}

/** One log line, before Node ends the process with the stack on standard error. */
export function logUnhandledErrors(log: Logger): void {
  process.on('uncaughtExceptionMonitor', (err, origin) =>
    log.fatal({ err, origin }, 'unhandled error: ending'),
  );
}

/** Every step runs, also after one that failed. @returns how many failed. */
export async function runSteps(log: Logger, steps: readonly ShutdownStep[]): Promise<number> {
  let failures = 0;
  for (const step of steps) {
    try {
      await step.run();
    } catch (error) {
      failures += 1;
      log.error({ step: step.name, error: errorName(error), err: error }, 'a shutdown step failed');
    }
  }
  return failures;
}

/**
 * Waits for `ending`, at most `timeoutMs`. (Some clients wait for ever for the end of a connection that is down anyway.)
 * @returns whether it has ended. @throws what `ending` throws until then
 */
export async function endedWithin(ending: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  return await Promise.race([ending.then(() => true), late]).finally(() => clearTimeout(timer));
}
