import { FeatureExtractor, type FrameTarget } from './feature-extractor.ts';
import { type FilterBank, FRAME_LENGTH_SAMPLES, type Framing, KALDI_FRAMING } from './frames.ts';

/** Enough silence to complete every frame that has a sample in it. */
const SILENCE = new Float32Array(FRAME_LENGTH_SAMPLES);

/** All frames of a recording so far, for a family that looks at the whole recording in each update. */
export class GrowingFrames {
  readonly #extractor: FeatureExtractor;
  readonly #framing: Framing;
  readonly #frames: FrameList;
  /** A frame of digital silence. */
  readonly #silence: Float32Array;
  #samples = 0;

  constructor(filterBank: FilterBank, framing: Framing) {
    this.#extractor = new FeatureExtractor(filterBank, framing);
    this.#framing = framing;
    this.#frames = new FrameList(filterBank.bins);
    this.#silence = new Float32Array(filterBank.bins);
    filterBank.compute(SILENCE, this.#silence);
  }

  /** Values of a frame. */
  get bins(): number {
    return this.#frames.bins;
  }

  /** Samples taken in. */
  get samples(): number {
    return this.#samples;
  }

  /** @param samples 16 kHz mono, in [-1, 1]. */
  accept(samples: Float32Array): void {
    this.#extractor.accept(samples, 0, this.#frames);
    this.#samples += samples.length;
  }

  /** The frames that are complete: (frames, bins) row by row. */
  complete(): Float32Array {
    return this.#frames.values();
  }

  /**
   * The frames of a recording that ends here. With Kaldi's framing, mirrored samples complete the last ones. A
   * recording that is shorter than a frame has none.
   * @returns (frames, bins) row by row.
   */
  whole(): Float32Array {
    const complete = this.complete();
    if (this.#framing !== KALDI_FRAMING || complete.length === 0) return complete;
    const whole = new FrameList(this.bins);
    whole.append(complete);
    this.#extractor.fork().mirrorRightEdge(whole);
    return whole.values();
  }

  /**
   * A stretch of the recording with digital silence behind it.
   * @param frameCount of both together.
   * @param start frame that it begins with.
   * @param end frame that it ends before. Behind the last complete frame, those that the silence completes come with it.
   * @returns (frameCount, bins) row by row.
   */
  followedBySilence(frameCount: number, start = 0, end = Number.POSITIVE_INFINITY): Float32Array {
    const { bins } = this.#frames;
    const padded = new FrameList(bins, frameCount);
    const complete = this.#frames.values();
    padded.append(complete.subarray(start * bins, Math.min(end, start + frameCount) * bins));
    if (end * bins >= complete.length) this.#extractor.fork().accept(SILENCE, 0, padded);
    while (!padded.full) padded.append(this.#silence);
    return padded.values();
  }
}

/** Frames one behind the other, in a buffer that grows. */
class FrameList implements FrameTarget {
  readonly bins: number;
  readonly #maxValues: number;
  #buffer: Float32Array;
  #filledValues = 0;

  constructor(bins: number, maxFrames: number = Number.POSITIVE_INFINITY) {
    this.bins = bins;
    this.#maxValues = maxFrames * bins;
    this.#buffer = new Float32Array(bins * Math.min(maxFrames, 64));
  }

  get full(): boolean {
    return this.#filledValues === this.#maxValues;
  }

  nextFrame(): Float32Array {
    return this.#reserve(this.bins);
  }

  append(frames: Float32Array): void {
    this.#reserve(frames.length).set(frames);
  }

  values(): Float32Array {
    return this.#buffer.subarray(0, this.#filledValues);
  }

  #reserve(values: number): Float32Array {
    const start = this.#filledValues;
    this.#filledValues += values;
    if (this.#filledValues > this.#buffer.length) {
      const larger = new Float32Array(Math.max(this.#filledValues, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, start));
      this.#buffer = larger;
    }
    return this.#buffer.subarray(start, this.#filledValues);
  }
}
