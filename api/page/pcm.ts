import { TARGET_RATE_HZ } from '../client/audio/resampler.ts';
import { BYTES_PER_SAMPLE, FRAME_SAMPLES, MAX_RECORDING_SAMPLES } from './limits.ts';

/** One piece of 16 kHz mono PCM16 (little-endian, as every platform with a browser is). */
export type Pcm = Int16Array<ArrayBuffer>;

/** Floats in [-1, 1] as 16-bit integers; what is louder is clipped. */
function toPcm16(samples: Float32Array, pcm: Pcm): void {
  for (let n = 0; n < samples.length; n += 1) {
    pcm[n] = Math.max(-32_768, Math.min(32_767, Math.round((samples[n] ?? 0) * 32_768)));
  }
}

/** Collects 16 kHz samples into frames of 100 ms (3,200 bytes) and takes no sample past the longest recording. */
export class FrameAssembler {
  #frame: Pcm = new Int16Array(FRAME_SAMPLES);
  #filled = 0;
  #total = 0;

  /** True once the longest recording is there; what is pushed from then on is dropped. */
  get full(): boolean {
    return this.#total === MAX_RECORDING_SAMPLES;
  }

  /** Returns the frames that these samples complete. */
  push(samples: Float32Array): Pcm[] {
    const frames: Pcm[] = [];
    const end = Math.min(samples.length, MAX_RECORDING_SAMPLES - this.#total);
    this.#total += end;
    for (let start = 0; start < end; ) {
      const count = Math.min(end - start, FRAME_SAMPLES - this.#filled);
      toPcm16(samples.subarray(start, start + count), this.#frame.subarray(this.#filled));
      start += count;
      this.#filled += count;
      if (this.#filled === FRAME_SAMPLES) frames.push(this.#take());
    }
    return frames;
  }

  /** The tail, shorter than a frame, or nothing. */
  flush(): Pcm[] {
    return this.#filled === 0 ? [] : [this.#take()];
  }

  #take(): Pcm {
    const frame = this.#frame.slice(0, this.#filled);
    this.#filled = 0;
    return frame;
  }
}

/** How loud a piece of audio is, from 0 (−60 dBFS or less) to 1 (full scale), by its root mean square. */
export function level(pcm: Int16Array): number {
  let sum = 0;
  for (const sample of pcm) sum += (sample / 32_768) ** 2;
  const decibel = 10 * Math.log10(sum / Math.max(1, pcm.length) + 1e-12);
  return Math.max(0, Math.min(1, 1 + decibel / 60));
}

export function durationMs(samples: number): number {
  return Math.round((samples * 1000) / TARGET_RATE_HZ);
}

/** The names in a WAV's header, as words of 32 bits. */
export const [RIFF, WAVE, FMT, DATA] = [0x46_46_49_52, 0x45_56_41_57, 0x20_74_6d_66, 0x61_74_61_64];

/** A WAV file of these pieces: its header is eleven words of 32 bits, little-endian as the samples. */
export function wavFile(pieces: readonly Pcm[]): Blob {
  const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const pcmAndMono = 0x1_00_01;
  const bitsAndBytes = 0x10_00_00 | BYTES_PER_SAMPLE;
  const header = Uint32Array.of(
    ...[RIFF, 36 + bytes, WAVE],
    ...[FMT, 16, pcmAndMono, TARGET_RATE_HZ, TARGET_RATE_HZ * BYTES_PER_SAMPLE, bitsAndBytes],
    ...[DATA, bytes],
  );
  return new Blob([header, ...pieces], { type: 'audio/wav' });
}
