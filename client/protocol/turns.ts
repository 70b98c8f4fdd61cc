import { AsrError } from './errors.ts';
import { delay } from './waiting.ts';

/** How long a batch may use the slot before it leaves a gap. */
const TURN_MS = 5_000;
/** Longer than the longest wait of a client that was told `busy`. */
export const BATCH_GAP_MS = 1_500;

/**
 * The manners of a batch. The service has one slot and no queue: whoever comes back first gets it, and a batch is
 * back in milliseconds. So it leaves the slot free for a moment whenever it has used it for 5 s. And if it is
 * refused then, it comes back later than those who have had no turn: without that, two batches took the slot from
 * each other, and in simulations one of 50 single calls waited until both had ended.
 */
export class Turns {
  readonly #gapMs: number;
  #usedMs = 0;
  #freeUntilMs = 0;
  #hadTurn = false;

  /** @param gapMs how long the slot is left free; 0: no manners */
  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** Runs one attempt at a recording when it is time for it. @throws as `attempt`; the signal's reason */
  async next<T>(attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const leftMs = this.#freeUntilMs - performance.now();
    if (leftMs > 0 && this.#usedMs >= TURN_MS) await delay(leftMs, signal);
    if (leftMs <= 0 || this.#usedMs >= TURN_MS) this.#usedMs = 0;
    const startedAtMs = performance.now();
    try {
      const result = await attempt();
      this.#hadTurn = true;
      this.#usedMs += performance.now() - startedAtMs;
      this.#freeUntilMs = performance.now() + this.#gapMs;
      return result;
    } catch (error) {
      if (this.#hadTurn && error instanceof AsrError && error.code === 'busy')
        await delay(this.#gapMs * (1 + Math.random()), signal);
      throw error;
    }
  }
}
