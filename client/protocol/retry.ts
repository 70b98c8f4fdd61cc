import { AsrError } from './errors.ts';
import { delay } from './waiting.ts';

/** Behind `busy` the slot is free within a recording's length: the service's Retry-After, and some chance. */
const BUSY_DELAY_MS = 1_000;
const BUSY_CHANCE_MS = 400;
/** After other failures each wait is twice the one before, up to the longest. */
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 4_000;

export interface RetryOptions {
  /**
   * Attempts in all; 1 never retries. Default: as long as `patienceMs` allows after `busy`, and 8 after not
   * ready and network failures, which waits about 15 s.
   */
  readonly attempts?: number | undefined;
  /** How long to try again after `busy`. Default 120,000. */
  readonly patienceMs?: number | undefined;
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

export interface Retry {
  readonly error: AsrError;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
}

/**
 * Runs `attempt` until it succeeds or fails for a reason that lasts. After `busy` it waits 1.0 to 1.4 s each time, or
 * what a proxy's `Retry-After` asks for, until its patience ends: whoever waits long has the same chance as one who
 * has just come. After other failures each wait is longer, and a quarter of it random: clients that were refused
 * together do not come back together.
 * @throws the last failure; the signal's reason when aborted.
 */
export async function withRetry<T>(
  attempt: () => Promise<T>,
  options: RetryOptions = {},
  signal?: AbortSignal,
): Promise<T> {
  const { attempts, patienceMs } = options;
  const startedAtMs = performance.now();
  let failures = 0;
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof AsrError && error.retryable)) throw error;
      const isBusy = error.code === 'busy';
      if (!isBusy) failures += 1;
      const delayMs = isBusy ? busyDelayMs(error.retryAfterMs) : growingDelayMs(failures);
      const waitedMs = performance.now() - startedAtMs + delayMs;
      const isPatient = isBusy
        ? waitedMs <= (patienceMs ?? (attempts === undefined ? 120_000 : Number.POSITIVE_INFINITY))
        : attempts !== undefined || failures < 8;
      // NaN, as from a setting that is missing, fails these comparisons, and does not go on for ever.
      if (!isPatient || !(number < (attempts ?? Number.POSITIVE_INFINITY))) throw error;
      options.onRetry?.({ error, attempt: number, delayMs });
      await delay(delayMs, signal);
    }
  }
}

/** How long to leave the slot to others after `busy`. */
export const busyDelayMs = (retryAfterMs = BUSY_DELAY_MS): number =>
  Math.round(retryAfterMs + BUSY_CHANCE_MS * Math.random());

const growingDelayMs = (failures: number): number =>
  Math.round(Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), MAX_DELAY_MS) * (1 - Math.random() / 4));
