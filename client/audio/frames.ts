import { BYTES_PER_SAMPLE, MAX_FRAME_BYTES } from '../../common/audio/limits.ts';

/** Samples of one full frame: 100 ms. */
export const FRAME_SAMPLES = MAX_FRAME_BYTES / BYTES_PER_SAMPLE;

/** @returns a copy of the samples as little-endian bytes, on every machine. */
export function littleEndian(samples: Int16Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(samples.length * BYTES_PER_SAMPLE);
  const view = new DataView(bytes.buffer);
  samples.forEach((sample, index) => {
    view.setInt16(index * BYTES_PER_SAMPLE, sample, true);
  });
  return bytes;
}

/** @returns all pieces in one, copied. */
export function joined(pieces: readonly Int16Array[]): Int16Array {
  const whole = new Int16Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let filled = 0;
  for (const piece of pieces) {
    whole.set(piece, filled);
    filled += piece.length;
  }
  return whole;
}

/** Cuts audio in pieces of any length into frames of 1,600 samples. What is left over waits for more. */
export class FrameCutter {
  #rest = new Int16Array(0);

  /** @param samples are copied. @returns the frames that are full now */
  push(samples: Int16Array): Int16Array[] {
    let rest = joined([this.#rest, samples]);
    const frames: Int16Array[] = [];
    for (; rest.length >= FRAME_SAMPLES; rest = rest.subarray(FRAME_SAMPLES))
      frames.push(rest.slice(0, FRAME_SAMPLES));
    this.#rest = rest.slice();
    return frames;
  }

  /** The last call. @returns the short last frame, if there is one */
  flush(): Int16Array[] {
    return this.#rest.length === 0 ? [] : [this.#rest];
  }
}
