/**
 * The highest fence this process has seen, over uploads and sessions. Work with a smaller one belongs to a holder that lost the slot
 * before the last one got it.
 */
export class FenceGuard {
  #highest = 0;

  /** @returns false for work that came too late. */
  admit(fence: number): boolean {
    if (fence < this.#highest) return false;
    this.#highest = fence;
    return true;
  }
}
