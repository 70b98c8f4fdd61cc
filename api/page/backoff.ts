import { asFailure, type Failure, isPassing } from './failures.ts';

/** The longest recording of somebody else lasts about 40 s: the waits add up to that. */
const DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000];

export interface Waiting {
  readonly failure: Failure;
  readonly delayMs: number;
  /** 1 for the first repetition. */
  readonly attempt: number;
  readonly attempts: number;
}

/** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(done, ms);
    function done(): void {
      signal.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted(): void {
      clearTimeout(timer);
      reject(signal.reason);
    }
    signal.addEventListener('abort', aborted, { once: true });
  });
}

/**
 * Tries again after growing waits, as long as the failure is one that passes by itself (busy, not ready, network).
 * @param waiting told before each wait.
 * @throws the last failure; the signal's reason when aborted.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  waiting: (wait: Waiting) => void,
  signal: AbortSignal,
): Promise<T> {
  for (const [n, delayMs] of DELAYS_MS.entries()) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      const failure = asFailure(error);
      if (!isPassing(failure.kind)) throw failure;
      waiting({ failure, delayMs, attempt: n + 1, attempts: DELAYS_MS.length });
      await delay(delayMs, signal);
    }
  }
  return attempt();
}
