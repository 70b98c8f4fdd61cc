import type { FrameWindow } from './frame-window.ts';
import { type FilterBank, FRAME_LENGTH_SAMPLES, FRAME_SHIFT_SAMPLES, LEFT_EDGE_SAMPLES } from './frames.ts';
import { KaldiFbank } from './kaldi-fbank.ts';
import { WhisperFbank } from './whisper-fbank.ts';

export function createFilterBank(features: 'kaldi' | 'whisper'): FilterBank {
  switch (features) {
    case 'kaldi':
      return new KaldiFbank();
    case 'whisper':
      return new WhisperFbank();
    default:
      return features satisfies never;
  }
}

/**
 * One recording's samples on their way into frames. Nothing depends on how the samples are cut, and no more than one
 * frame of them is held. Frame f starts at sample 160 f − 120; samples before the first are mirrored (−1 → 0,
 * −2 → 1), as Kaldi does with `snip_edges` off. The other end is never mirrored: a recording ends in silence that is
 * fed like any other samples.
 */
export class FeatureExtractor {
  readonly #frame = new Float32Array(FRAME_LENGTH_SAMPLES);
  readonly #filterBank: FilterBank;
  #filledSamples = LEFT_EDGE_SAMPLES;
  #atStart = true;

  constructor(filterBank: FilterBank) {
    this.#filterBank = filterBank;
  }

  /**
   * Takes samples from `samples[offset]` on until they are used up or `window` is full.
   * @param samples 16 kHz mono, in [-1, 1].
   * @returns the offset of the first sample not taken.
   */
  accept(samples: Float32Array, offset: number, window: FrameWindow): number {
    let next = offset;
    while (next < samples.length && !window.full) {
      const count = Math.min(FRAME_LENGTH_SAMPLES - this.#filledSamples, samples.length - next);
      this.#frame.set(samples.subarray(next, next + count), this.#filledSamples);
      this.#filledSamples += count;
      next += count;
      if (this.#filledSamples < FRAME_LENGTH_SAMPLES) continue;
      if (this.#atStart) this.#mirrorLeftEdge();
      this.#filterBank.compute(this.#frame, window.nextFrame());
      this.#frame.copyWithin(0, FRAME_SHIFT_SAMPLES);
      this.#filledSamples -= FRAME_SHIFT_SAMPLES;
    }
    return next;
  }

  #mirrorLeftEdge(): void {
    for (let i = 0; i < LEFT_EDGE_SAMPLES; i++) {
      this.#frame[LEFT_EDGE_SAMPLES - 1 - i] = this.#frame[LEFT_EDGE_SAMPLES + i] ?? 0;
    }
    this.#atStart = false;
  }
}
