import FFT from 'fft.js';
import { SAMPLE_RATE_HZ } from '../../../common/audio/limits.ts';
import { type FilterBank, FRAME_LENGTH_SAMPLES, type Framing, MEL_BINS } from './frames.ts';
import { applyMelFilters, type MelFilter, triangle } from './mel-filters.ts';

const ENERGY_FLOOR = 1e-10;
/** Bins of the 400-point spectrum. */
const BINS = FRAME_LENGTH_SAMPLES / 2 + 1;
/** 400 = 16 × 25: fft.js does the powers of two, the 25 interleaved parts are put together here. */
const PART_SIZE = 16;
const PARTS = FRAME_LENGTH_SAMPLES / PART_SIZE;

/** Frame f is centred on sample 160 f, as `torch.stft` has it. */
export const WHISPER_FRAMING: Framing = {
  leftEdgeSamples: FRAME_LENGTH_SAMPLES / 2,
  mirror: 'about the first',
};

/**
 * Whisper's log-mel filter bank (`log_mel_spectrogram` in openai/whisper's audio.py): Hann window, 400-point
 * spectrum, 80 Slaney filters (128 in the large models) from 0 to 8000 Hz, log10. The rest of Whisper's
 * recipe needs a whole step: `normalizeWhisperWindow`.
 */
export class WhisperFbank implements FilterBank {
  readonly bins: number;
  readonly #fft = new FFT(PART_SIZE);
  readonly #part = new Float64Array(PART_SIZE);
  readonly #partSpectrum = new Float64Array(2 * PART_SIZE);
  /** Spectra of the parts, real and imaginary: for each of 16 bins, the 25 parts. */
  readonly #re = new Float64Array(PART_SIZE * PARTS);
  readonly #im = new Float64Array(PART_SIZE * PARTS);
  readonly #power = new Float64Array(BINS);
  readonly #window = hannWindow();
  /** cos and sin of 2π·bin·part/400: for each of 201 bins, the 25 parts. */
  readonly #cosines = twiddles(Math.cos);
  readonly #sines = twiddles(Math.sin);
  readonly #filters: readonly MelFilter[];

  constructor(bins: number = MEL_BINS) {
    this.bins = bins;
    this.#filters = slaneyFilters(bins);
  }

  /** @param out log10 of each mel band's energy. */
  compute(frame: Float32Array, out: Float32Array): void {
    for (let part = 0; part < PARTS; part++) this.#transformPart(frame, part);
    this.#combineParts();
    applyMelFilters(this.#filters, this.#power, out);
    for (let band = 0; band < this.bins; band++)
      out[band] = Math.log10(Math.max(out[band] ?? 0, ENERGY_FLOOR));
  }

  /** The spectrum of the samples part, part + 25, part + 50 … */
  #transformPart(frame: Float32Array, part: number): void {
    for (let i = 0; i < PART_SIZE; i++) {
      const at = PARTS * i + part;
      this.#part[i] = (frame[at] ?? 0) * (this.#window[at] ?? 0);
    }
    this.#fft.realTransform(this.#partSpectrum, this.#part);
    this.#fft.completeSpectrum(this.#partSpectrum);
    for (let bin = 0; bin < PART_SIZE; bin++) {
      this.#re[PARTS * bin + part] = this.#partSpectrum[2 * bin] ?? 0;
      this.#im[PARTS * bin + part] = this.#partSpectrum[2 * bin + 1] ?? 0;
    }
  }

  /** Power of X[k] = Σ over parts n of e^(−2πi·n·k/400) · (spectrum of part n at k mod 16). */
  #combineParts(): void {
    const [partRe, partIm, cosines, sines] = [this.#re, this.#im, this.#cosines, this.#sines];
    for (let bin = 0; bin < BINS; bin++) {
      const row = PARTS * (bin % PART_SIZE);
      let re = 0;
      let im = 0;
      for (let part = 0; part < PARTS; part++) {
        const cosine = cosines[PARTS * bin + part] ?? 0;
        const sine = sines[PARTS * bin + part] ?? 0;
        const x = partRe[row + part] ?? 0;
        const y = partIm[row + part] ?? 0;
        re += x * cosine + y * sine;
        im += y * cosine - x * sine;
      }
      this.#power[bin] = re * re + im * im;
    }
  }
}

function twiddles(part: (angle: number) => number): Float64Array {
  const values = new Float64Array(BINS * PARTS);
  for (let bin = 0; bin < BINS; bin++) {
    for (let n = 0; n < PARTS; n++) {
      values[PARTS * bin + n] = part(
        (2 * Math.PI * ((bin * n) % FRAME_LENGTH_SAMPLES)) / FRAME_LENGTH_SAMPLES,
      );
    }
  }
  return values;
}

/**
 * Whisper's range compression over the frames of one step: at most 8 decades below the step's loudest value, then (x + 4) / 4.
 * @param logMel log10 values; left as they are.
 */
export function normalizeWhisperWindow(logMel: Float32Array, out: Float32Array): void {
  let max = Number.NEGATIVE_INFINITY;
  for (const value of logMel) max = Math.max(max, value);
  const floor = max - 8;
  for (let i = 0; i < logMel.length; i++) out[i] = (Math.max(logMel[i] ?? 0, floor) + 4) / 4;
}

/** Hann's window in its periodic form, as `torch.hann_window` gives it. */
function hannWindow(): Float64Array {
  return Float64Array.from(
    { length: FRAME_LENGTH_SAMPLES },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / FRAME_LENGTH_SAMPLES),
  );
}

/** Triangles linear in Hz between points equally far apart on Slaney's mel scale, each with area 1 (in Hz). */
function slaneyFilters(bins: number): MelFilter[] {
  const top = hzToMel(SAMPLE_RATE_HZ / 2);
  const hz = Array.from({ length: bins + 2 }, (_, i) => melToHz((top * i) / (bins + 1)));
  return Array.from({ length: bins }, (_, band) => {
    const [left = 0, centre = 0, right = 0] = hz.slice(band, band + 3);
    return triangle(BINS, (bin) => {
      const at = (SAMPLE_RATE_HZ / FRAME_LENGTH_SAMPLES) * bin;
      if (at <= left || at >= right) return 0;
      const height = at <= centre ? (at - left) / (centre - left) : (right - at) / (right - centre);
      return (2 * height) / (right - left);
    });
  });
}

/**
 * Slaney's scale (Auditory Toolbox, 1998), librosa's default: linear to 1000 Hz (15 mel), then 27 mel for
 * every factor of 6.4.
 */
const LINEAR_HZ_PER_MEL = 200 / 3;
const LOG_START_HZ = 1000;
const LOG_START_MEL = LOG_START_HZ / LINEAR_HZ_PER_MEL;
const LOG_STEP = Math.log(6.4) / 27;

function hzToMel(hz: number): number {
  if (hz < LOG_START_HZ) return hz / LINEAR_HZ_PER_MEL;
  return LOG_START_MEL + Math.log(hz / LOG_START_HZ) / LOG_STEP;
}

function melToHz(mel: number): number {
  if (mel < LOG_START_MEL) return mel * LINEAR_HZ_PER_MEL;
  return LOG_START_HZ * Math.exp(LOG_STEP * (mel - LOG_START_MEL));
}
