import { FrameCutter, littleEndian } from '../../client/audio/frames.ts';
import { wavHeader } from '../../client/audio/wav.ts';
import { audioMs, BYTES_PER_SAMPLE, BYTES_PER_SECOND } from '../../common/audio/limits.ts';
import { loudness } from './loudness.ts';
import type { Sound } from './now.ts';

/** A minute. */
const PART_FRAMES = 600;

/** Audio of any length as it comes, 16 kHz mono. It is kept in Blobs: a browser may put those out of its memory. */
export class AudioParts {
  /** The loudness of each 100 ms. */
  readonly levels: number[] = [];
  readonly #cutter = new FrameCutter();
  readonly #parts: Blob[] = [];
  #frames: Uint8Array<ArrayBuffer>[] = [];
  #samples = 0;

  get lengthMs(): number {
    return audioMs(BYTES_PER_SAMPLE * this.#samples);
  }

  push(samples: Int16Array): void {
    this.#samples += samples.length;
    for (const frame of this.#cutter.push(samples)) this.#keep(frame);
  }

  /** The last call. */
  sound(fileName: string | undefined, takenAt: Date): Sound {
    for (const frame of this.#cutter.flush()) this.#keep(frame);
    const wav = wavBlob([...this.#parts, ...this.#frames], this.#samples);
    return { wav, lengthMs: this.lengthMs, levels: this.levels, fileName, takenAt };
  }

  #keep(frame: Int16Array): void {
    this.levels.push(loudness(frame));
    this.#frames.push(littleEndian(frame));
    if (this.#frames.length < PART_FRAMES) return;
    this.#parts.push(new Blob(this.#frames));
    this.#frames = [];
  }
}

const wavBlob = (parts: readonly (Blob | Uint8Array<ArrayBuffer>)[], samples: number): Blob =>
  new Blob([wavHeader(samples), ...parts], { type: 'audio/wav' });

const HEADER_BYTES = wavHeader(0).length;

/** @returns what stands behind so many milliseconds of a WAV that this page made */
export function wavFrom(wav: Blob, startMs: number): Blob {
  const pcm = wav.slice(HEADER_BYTES + (startMs * BYTES_PER_SECOND) / 1_000);
  return wavBlob([pcm], pcm.size / BYTES_PER_SAMPLE);
}
