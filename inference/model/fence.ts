import type { Slot } from '../../common/slot/slot.ts';

/**
 * Microseconds of the year 2112. A larger fence is a stranger's and is not remembered. Otherwise all later
 * work would seem to be late, and the counter would be raised to where numbers no longer grow by one.
 */
const LARGEST_FENCE = 2 ** 52;

/**
 * The highest fence this process has seen, over uploads and sessions. Work with a smaller one belongs to a
 * holder that lost the slot before the last one got it.
 */
export class FenceGuard {
  readonly #slot: Pick<Slot, 'raiseFence'>;
  #highest = 0;

  constructor(slot: Pick<Slot, 'raiseFence'>) {
    this.#slot = slot;
  }

  /** @returns false for work that came too late. */
  admit(fence: number): boolean {
    if (fence < this.#highest) {
      // It may also be right, from a Redis that came back empty with a clock far behind. Raising the counter
      // keeps the next work from being refused too.
      this.#slot.raiseFence(this.#highest).catch(() => undefined);
      return false;
    }
    if (fence <= LARGEST_FENCE) this.#highest = fence;
    return true;
  }
}
