import { AsrError } from './errors.ts';
import { delay } from './waiting.ts';

export interface RetryOptions {
  /** Attempts in all; 1 never retries. Default 8, which waits about 15 s: as long as another recording. */
  readonly attempts?: number | undefined;
  /** Wait before the second attempt; doubles from one to the next. Default 250. */
  readonly firstDelayMs?: number | undefined;
  /** Longest wait between two attempts. Default 4000. */
  readonly maxDelayMs?: number | undefined;
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

export interface Retry {
  readonly error: AsrError;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly attempts: number;
  readonly delayMs: number;
}

/**
 * Runs `attempt` until it succeeds, fails for a reason that lasts, or has failed `attempts` times. Each wait
 * is longer, and a quarter of it random: clients that were refused together do not come back together.
 * @throws the last failure; the signal's reason when aborted.
 */
export async function withRetry<T>(
  attempt: () => Promise<T>,
  options: RetryOptions = {},
  signal?: AbortSignal,
): Promise<T> {
  const { attempts = 8, firstDelayMs = 250, maxDelayMs = 4_000 } = options;
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      // NaN, as from a setting that is missing, fails this comparison, too, and does not go on for ever.
      if (!(error instanceof AsrError && error.retryable && number < attempts)) throw error;
      const fullMs = Math.min(firstDelayMs * 2 ** (number - 1), maxDelayMs);
      const delayMs = Math.round(fullMs * (1 - Math.random() / 4));
      options.onRetry?.({ error, attempt: number, attempts, delayMs });
      await delay(delayMs, signal);
    }
  }
}
