import { FRAME_BYTES } from './wire.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** @returns a copy of the samples as little-endian bytes, on every machine. */
export function littleEndian(samples: Int16Array): Bytes {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  samples.forEach((sample, index) => {
    view.setInt16(index * 2, sample, true);
  });
  return bytes;
}

/** Cuts audio that comes in any pieces into frames of 3,200 bytes (100 ms); what is left over waits for more. */
export class FrameCutter {
  #rest: Bytes = new Uint8Array(0);

  /** @returns the frames that are full now */
  push(bytes: Bytes): Bytes[] {
    const joined = new Uint8Array(this.#rest.length + bytes.length);
    joined.set(this.#rest);
    joined.set(bytes, this.#rest.length);
    const fullBytes = joined.length - (joined.length % FRAME_BYTES);
    this.#rest = joined.slice(fullBytes);
    const frames: Bytes[] = [];
    for (let start = 0; start < fullBytes; start += FRAME_BYTES)
      frames.push(joined.subarray(start, start + FRAME_BYTES));
    return frames;
  }

  /** The last call. @returns the short last frame, if there is one */
  flush(): Bytes[] {
    return this.#rest.length === 0 ? [] : [this.#rest];
  }
}

/** After being held up, this much time is caught up at once; a longer wait only shifts what follows. */
const MAX_BEHIND_MS = 500;
const REAL_TIME_BYTES_PER_MS = 32;

/**
 * Says when each frame may go, so that the service's backlog of two seconds is not passed.
 * In real time: as fast as it is spoken, for a recording that is there as a whole. Live: for audio that comes at its own speed, which only a stall of
 * the connection holds up; 1 s may follow at once, the rest at twice its speed.
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
