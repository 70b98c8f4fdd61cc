import FFT from 'fft.js';
import { SAMPLE_RATE_HZ } from '../../../common/audio/limits.ts';
import { type FilterBank, FRAME_LENGTH_SAMPLES, MEL_BINS } from './frames.ts';
import { applyMelFilters, type MelFilter, triangle } from './mel-filters.ts';

const FFT_SIZE = 512;
const PRE_EMPHASIS = 0.97;
const LOW_HZ = 20;
/** The smallest step of a float32 at 1, below which Kaldi takes no logarithm. */
const ENERGY_FLOOR = 1.1920929e-7;

/** What differs between families. */
export interface KaldiOptions {
  readonly window: 'povey' | 'hamming';
  /** Where the last filter ends. */
  readonly highHz: number;
  /** What samples in [-1, 1] are multiplied by. */
  readonly scale: number;
}

/** As icefall trains with: up to 400 Hz below the Nyquist frequency. */
const ICEFALL: KaldiOptions = { window: 'povey', highHz: 7600, scale: 1 };

/** As FunASR's frontend has it. */
export const FUNASR: KaldiOptions = { window: 'hamming', highHz: 8000, scale: 32_768 };

/**
 * Kaldi's log-mel filter bank (`compute-fbank-feats` with dither 0, no energy and filters from 20 Hz on), in
 * double precision.
 */
export class KaldiFbank implements FilterBank {
  readonly bins = MEL_BINS;
  readonly #fft = new FFT(FFT_SIZE);
  readonly #time = new Float64Array(FFT_SIZE);
  readonly #spectrum = new Float64Array(2 * FFT_SIZE);
  readonly #power = new Float64Array(FFT_SIZE / 2);
  /** Times the scale. */
  readonly #window: Float64Array;
  readonly #filters: readonly MelFilter[];

  constructor({ window, highHz, scale }: KaldiOptions = ICEFALL) {
    this.#window = WINDOWS[window]().map((value) => scale * value);
    this.#filters = melFilters(highHz);
  }

  /** @param out 80 values: ln of each mel band's energy. */
  compute(frame: Float32Array, out: Float32Array): void {
    const time = this.#time;
    let mean = 0;
    for (let i = 0; i < FRAME_LENGTH_SAMPLES; i++) mean += frame[i] ?? 0;
    mean /= FRAME_LENGTH_SAMPLES;
    // Nothing is in front of the first sample: Kaldi takes the sample itself.
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
  }
}

const WINDOWS = {
  /** Kaldi's own: Hann's, to the power of 0.85, which unlike Hamming's is 0 at both ends. */
  povey: () => windowOf((cosine) => (0.5 - 0.5 * cosine) ** 0.85),
  hamming: () => windowOf((cosine) => 0.54 - 0.46 * cosine),
} as const;

/** @param value by the cosine of an angle that goes around once, from the first sample to the last. */
function windowOf(value: (cosine: number) => number): Float64Array {
  return Float64Array.from({ length: FRAME_LENGTH_SAMPLES }, (_, i) =>
    value(Math.cos((2 * Math.PI * i) / (FRAME_LENGTH_SAMPLES - 1))),
  );
}

function melFilters(highHz: number): MelFilter[] {
  // HTK's mel scale, which Kaldi uses.
  const mel = (hz: number): number => 1127 * Math.log(1 + hz / 700);
  const low = mel(LOW_HZ);
  const step = (mel(highHz) - low) / (MEL_BINS + 1);
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
