import FFT from 'fft.js';
import type { FrameWindow } from './frame-window.ts';

/** Mel bins a frame. */
export const MEL_BINS = 80;
/** Samples between the starts of two frames (10 ms at 16 kHz). */
export const FRAME_SHIFT_SAMPLES = 160;
/** Samples of a frame (25 ms at 16 kHz). */
export const FRAME_LENGTH_SAMPLES = 400;
/** With `snip_edges` off, frame 0 starts this many samples before the first one. */
export const LEFT_EDGE_SAMPLES = (FRAME_LENGTH_SAMPLES - FRAME_SHIFT_SAMPLES) / 2;

const SAMPLE_RATE_HZ = 16_000;

/**
 * Turns samples into frames of 80 log-mel values, one piece at a time. Nothing it computes depends on how the samples
 * are cut, and it holds no more than one frame of samples.
 */
export interface FeatureExtractor {
  /**
   * Takes samples from `samples[offset]` on until the samples are used up or `window` is full.
   * @param samples 16 kHz mono, in [-1, 1].
   * @returns the offset of the first sample not taken.
   */
  accept(samples: Float32Array, offset: number, window: FrameWindow): number;
}

/**
 * The sliding 25 ms frame both kinds of features share. Frame f starts at sample 160 f − 120; samples before the
 * first are mirrored (−1 → 0, −2 → 1), as Kaldi does with `snip_edges` off. The other end is never mirrored: a
 * recording ends in silence that is fed like any other samples.
 */
export class FrameSlicer implements FeatureExtractor {
  readonly #frame = new Float32Array(FRAME_LENGTH_SAMPLES);
  readonly #compute: (frame: Float32Array, out: Float32Array) => void;
  #filledSamples = LEFT_EDGE_SAMPLES;
  #atStart = true;

  /** @param compute writes the 80 values of one frame of 400 samples; must leave the frame as it is. */
  constructor(compute: (frame: Float32Array, out: Float32Array) => void) {
    this.#compute = compute;
  }

  accept(samples: Float32Array, offset: number, window: FrameWindow): number {
    let next = offset;
    while (next < samples.length && !window.full) {
      const count = Math.min(FRAME_LENGTH_SAMPLES - this.#filledSamples, samples.length - next);
      this.#frame.set(samples.subarray(next, next + count), this.#filledSamples);
      this.#filledSamples += count;
      next += count;
      if (this.#filledSamples < FRAME_LENGTH_SAMPLES) continue;
      if (this.#atStart) this.#mirrorLeftEdge();
      this.#compute(this.#frame, window.nextFrame());
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

const FFT_SIZE = 512;
const PRE_EMPHASIS = 0.97;
const LOW_HZ = 20;
const HIGH_HZ = 7600;
const ENERGY_FLOOR = 1.1920929e-7;

/** One triangular filter: `weights[i]` is for spectrum bin `firstBin + i`. */
export interface MelFilter {
  readonly firstBin: number;
  readonly weights: Float64Array;
}

/** Kaldi's log-mel filter bank (`fbank`, dither 0, no energy), in double precision. Its tables are shared by all streams. */
export class KaldiFbank {
  readonly #fft = new FFT(FFT_SIZE);
  readonly #time = new Float64Array(FFT_SIZE);
  readonly #spectrum = new Float64Array(2 * FFT_SIZE);
  readonly #power = new Float64Array(FFT_SIZE / 2);
  readonly #window = poveyWindow();
  readonly #filters = melFilters();

  /** @param out 80 values: ln of each mel band's energy. */
  readonly compute = (frame: Float32Array, out: Float32Array): void => {
    const time = this.#time;
    let mean = 0;
    for (let i = 0; i < FRAME_LENGTH_SAMPLES; i++) mean += frame[i] ?? 0;
    mean /= FRAME_LENGTH_SAMPLES;
    let previous = (frame[0] ?? 0) - mean;
    for (let i = 0; i < FRAME_LENGTH_SAMPLES; i++) {
      const sample = (frame[i] ?? 0) - mean;
      time[i] = (sample - PRE_EMPHASIS * previous) * (this.#window[i] ?? 0);
      previous = sample;
    }
    this.#fft.realTransform(this.#spectrum, time);
    for (let bin = 0; bin < FFT_SIZE / 2; bin++) {
      const re = this.#spectrum[2 * bin] ?? 0;
      const im = this.#spectrum[2 * bin + 1] ?? 0;
      this.#power[bin] = re * re + im * im;
    }
    applyMelFilters(this.#filters, this.#power, out);
    for (let band = 0; band < MEL_BINS; band++) out[band] = Math.log(Math.max(out[band] ?? 0, ENERGY_FLOOR));
  };

  /** A new recording. */
  open(): FeatureExtractor {
    return new FrameSlicer(this.compute);
  }
}

export function applyMelFilters(filters: readonly MelFilter[], power: Float64Array, out: Float32Array): void {
  for (let band = 0; band < filters.length; band++) {
    const filter = filters[band];
    if (filter === undefined) continue;
    let energy = 0;
    for (let i = 0; i < filter.weights.length; i++) {
      energy += (filter.weights[i] ?? 0) * (power[filter.firstBin + i] ?? 0);
    }
    out[band] = energy;
  }
}

function poveyWindow(): Float64Array {
  return Float64Array.from(
    { length: FRAME_LENGTH_SAMPLES },
    (_, i) => (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / (FRAME_LENGTH_SAMPLES - 1))) ** 0.85,
  );
}

function melFilters(): MelFilter[] {
  const mel = (hz: number): number => 1127 * Math.log(1 + hz / 700);
  const low = mel(LOW_HZ);
  const step = (mel(HIGH_HZ) - low) / (MEL_BINS + 1);
  return Array.from({ length: MEL_BINS }, (_, band) => {
    const left = low + band * step;
    const centre = left + step;
    const right = centre + step;
    return triangle(FFT_SIZE / 2, (bin) => {
      const at = mel((SAMPLE_RATE_HZ / FFT_SIZE) * bin);
      if (at <= left || at >= right) return 0;
      return at <= centre ? (at - left) / (centre - left) : (right - at) / (right - centre);
    });
  });
}

/** The bins with a weight, from the first to the last, out of `bins`. */
export function triangle(bins: number, weight: (bin: number) => number): MelFilter {
  const weights = Array.from({ length: bins }, (_, bin) => weight(bin));
  const firstBin = weights.findIndex((value) => value > 0);
  if (firstBin < 0) return { firstBin: 0, weights: new Float64Array(0) };
  const lastBin = weights.findLastIndex((value) => value > 0);
  return { firstBin, weights: Float64Array.from(weights.slice(firstBin, lastBin + 1)) };
}
