import type { Features } from '../../recognizer.ts';
import {
  type FilterBank,
  FRAME_LENGTH_SAMPLES,
  FRAME_SHIFT_SAMPLES,
  type Framing,
  KALDI_FRAMING,
  RIGHT_EDGE_SAMPLES,
  SNIPPED_FRAMING,
} from './frames.ts';
import { FUNASR, KaldiFbank } from './kaldi-fbank.ts';
import { WhisperFbank } from './whisper-fbank.ts';

export function createFilterBank(features: Features): FilterBank {
  switch (features) {
    case 'kaldi':
      return new KaldiFbank();
    case 'whisper':
      return new WhisperFbank();
    case 'funasr':
      return new KaldiFbank(FUNASR);
    default:
      return features satisfies never;
  }
}

/** How the frames of these features lie in a recording. */
export function framingOf(features: Features): Framing {
  return features === 'funasr' ? SNIPPED_FRAMING : KALDI_FRAMING;
}

/** Where frames go. */
export interface FrameTarget {
  /** No frame can be added for now. */
  readonly full: boolean;
  /** The values to be written for the next frame. */
  nextFrame(): Float32Array;
}

/**
 * Makes frames of one recording's samples. Nothing depends on how the samples are cut. No more than one frame of them is
 * held. Samples before the first are mirrored, as `framing` says.
 */
export class FeatureExtractor {
  readonly #frame = new Float32Array(FRAME_LENGTH_SAMPLES);
  readonly #filterBank: FilterBank;
  readonly #framing: Framing;
  #filledSamples: number;
  #atStart = true;

  constructor(filterBank: FilterBank, framing: Framing = KALDI_FRAMING) {
    this.#filterBank = filterBank;
    this.#framing = framing;
    this.#filledSamples = framing.leftEdgeSamples;
  }

  /** A copy that goes on from here by itself. */
  fork(): FeatureExtractor {
    const fork = new FeatureExtractor(this.#filterBank, this.#framing);
    fork.#frame.set(this.#frame);
    fork.#filledSamples = this.#filledSamples;
    fork.#atStart = this.#atStart;
    return fork;
  }

  /**
   * Takes samples from `samples[offset]` on until they are used up or `frames` is full.
   * @param samples 16 kHz mono, in [-1, 1].
   * @returns the offset of the first sample not taken.
   */
  accept(samples: Float32Array, offset: number, frames: FrameTarget): number {
    let next = offset;
    while (next < samples.length && !frames.full) {
      const count = Math.min(FRAME_LENGTH_SAMPLES - this.#filledSamples, samples.length - next);
      this.#frame.set(samples.subarray(next, next + count), this.#filledSamples);
      this.#filledSamples += count;
      next += count;
      if (this.#filledSamples < FRAME_LENGTH_SAMPLES) continue;
      if (this.#atStart) this.#mirrorLeftEdge();
      this.#filterBank.compute(this.#frame, frames.nextFrame());
      this.#frame.copyWithin(0, FRAME_SHIFT_SAMPLES);
      this.#filledSamples -= FRAME_SHIFT_SAMPLES;
    }
    return next;
  }

  /** Behind the last sample: adds the frames that mirrored samples complete, as Kaldi has it with `snip_edges` off. */
  mirrorRightEdge(frames: FrameTarget): void {
    const [start, end] = [this.#filledSamples - RIGHT_EDGE_SAMPLES, this.#filledSamples];
    this.accept(this.#frame.slice(start, end).reverse(), 0, frames);
  }

  /**
   * The sample furthest to the left may mirror one behind the frame. Whisper's window is 0 on the far left,
   * so any number does.
   */
  #mirrorLeftEdge(): void {
    const { leftEdgeSamples, mirror } = this.#framing;
    const first = mirror === 'about the first' ? 1 : 0;
    for (let i = 0; i < leftEdgeSamples; i++) {
      this.#frame[leftEdgeSamples - 1 - i] = this.#frame[leftEdgeSamples + first + i] ?? 0;
    }
    this.#atStart = false;
  }
}
