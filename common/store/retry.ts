import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailable } from '../errors/errors.ts';

const RETRY_MS = 200;

/**
 * Repeats a command until Redis answers: an outage that ends before the deadline costs nothing but time. The
 * command may be carried out more than once, because its answer can be what was lost.
 * @param deadlineMs as of `performance.now()`, which no change of a clock moves. A function says what it is by now
 * @throws StoreUnavailable at the deadline; what else the command throws
 */
export async function retryUntilAnswered<T>(
  deadlineMs: number | (() => number),
  command: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await command();
    } catch (error) {
      const untilMs = typeof deadlineMs === 'number' ? deadlineMs : deadlineMs();
      if (!(error instanceof StoreUnavailable) || performance.now() >= untilMs) throw error;
      await delay(RETRY_MS);
    }
  }
}
