import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_AGAIN_MS = 10;

/** Counts what is under way, such as requests, sessions or clean-up. A shutdown waits until it is quiet. */
export class UnderWay {
  #count = 0;
  #quietSinceMs = 0;

  /** @returns what to call once, at the end */
  begin(): () => void {
    this.#count += 1;
    return () => {
      this.#count -= 1;
      this.#quietSinceMs = performance.now();
    };
  }

  /** Resolves when nothing has been under way for `quietMs` from now on, and after `timeoutMs` at the latest. */
  async quiet(quietMs: number, timeoutMs: number): Promise<void> {
    this.#quietSinceMs = performance.now();
    const lateAtMs = this.#quietSinceMs + timeoutMs;
    const isQuiet = (): boolean => this.#count === 0 && performance.now() >= this.#quietSinceMs + quietMs;
    while (!isQuiet() && performance.now() < lateAtMs) await sleep(LOOK_AGAIN_MS);
  }
}
