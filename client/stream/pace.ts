import { BYTES_PER_SECOND } from '../../common/audio/limits.ts';

/** After being held up, this much time is caught up at once. A longer wait only shifts what follows. */
const MAX_BEHIND_MS = 500;
const REAL_TIME_BYTES_PER_MS = BYTES_PER_SECOND / 1000;

/**
 * Says when each frame may go, so that the service's backlog of two seconds is not passed.
 * `real-time` is for a recording that is there as a whole: it goes as fast as it is spoken. `live` is for
 * audio that comes at its own speed. After a stall of the connection 1 s of it follows at once, the rest at
 * twice its speed.
 */
export class Pace {
  readonly #bytesPerMs: number;
  #dueMs: number | undefined;
  readonly #headStartMs: number;

  constructor(kind: 'real-time' | 'live') {
    this.#bytesPerMs = kind === 'live' ? 2 * REAL_TIME_BYTES_PER_MS : REAL_TIME_BYTES_PER_MS;
    this.#headStartMs = kind === 'live' ? MAX_BEHIND_MS : 0;
  }

  /** @returns how long the next frame has to wait, in milliseconds */
  take(frameBytes: number, nowMs: number): number {
    const dueMs = Math.max(this.#dueMs ?? nowMs - this.#headStartMs, nowMs - MAX_BEHIND_MS);
    this.#dueMs = dueMs + frameBytes / this.#bytesPerMs;
    return Math.max(0, dueMs - nowMs);
  }
}
