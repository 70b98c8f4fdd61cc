import { MAX_BUFFERED_BYTES } from './limits.ts';
import type { Pcm } from './pcm.ts';

/** How much held-back audio may follow at once: 1 s, half of what the service lets wait. */
const BURST_BYTES = 32_000;
/** Held-back audio catches up at twice real time, so that a short stall of the network does not end in `overloaded`. */
const CATCH_UP_BYTES_PER_MS = 64;
const LOOK_AGAIN_MS = 25;

export interface FrameSink {
  readonly bufferedAmount: number;
  send(data: Pcm): void;
}

/**
 * Sends the frames in order and holds them back while the browser has more than 64,000 bytes still to send, or faster than the service would
 * take them. The queue holds one recording at most, since the recording ends at 15 s.
 */
export class FrameSender {
  readonly #sink: FrameSink;
  readonly #queue: Pcm[] = [];
  readonly #whenEmpty: (() => void)[] = [];
  #creditBytes = BURST_BYTES;
  #creditAtMs = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  push(frame: Pcm): void {
    this.#queue.push(frame);
    if (this.#timer === undefined) this.#send();
  }

  /** Calls back once every frame pushed so far has been given to the browser, at once if that is so now. */
  whenEmpty(callback: () => void): void {
    if (this.#queue.length === 0) callback();
    else this.#whenEmpty.push(callback);
  }

  /** What is held back is not sent any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #send(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    const earnedBytes = (nowMs - this.#creditAtMs) * CATCH_UP_BYTES_PER_MS;
    this.#creditBytes = Math.min(BURST_BYTES, this.#creditBytes + earnedBytes);
    this.#creditAtMs = nowMs;
    for (let frame = this.#queue[0]; frame !== undefined; frame = this.#queue[0]) {
      const tooMuch = this.#sink.bufferedAmount + frame.byteLength > MAX_BUFFERED_BYTES;
      if (tooMuch || this.#creditBytes < frame.byteLength) {
        this.#timer = setTimeout(() => this.#send(), LOOK_AGAIN_MS);
        return;
      }
      this.#creditBytes -= frame.byteLength;
      this.#queue.shift();
      this.#sink.send(frame);
    }
    for (const callback of this.#whenEmpty.splice(0)) callback();
  }
}
