import FFT from 'fft.js';
import { type FilterBank, FRAME_LENGTH_SAMPLES, MEL_BINS, SAMPLE_RATE_HZ } from './frames.ts';
import { applyMelFilters, type MelFilter, triangle } from './mel-filters.ts';

const ENERGY_FLOOR = 1e-10;
/** Bins of the 400-point spectrum. */
const BINS = FRAME_LENGTH_SAMPLES / 2 + 1;
/** 400 = 16 × 25: fft.js does the powers of two, the 25 interleaved parts are put together here. */
const PART_SIZE = 16;
const PARTS = FRAME_LENGTH_SAMPLES / PART_SIZE;

/**
 * Whisper's log-mel filter bank: Hann window, 400-point spectrum, 80 Slaney filters from 0 to 8000 Hz, log10. The rest of
 * Whisper's recipe depends on a whole step: `normalizeWhisperWindow`.
 */
export class WhisperFbank implements FilterBank {
  readonly #fft = new FFT(PART_SIZE);
  readonly #part = new Float64Array(PART_SIZE);
  readonly #partSpectrum = new Float64Array(2 * PART_SIZE);
  /** Spectra of the 25 parts, (25, 16) complex. */
  readonly #spectra = new Float64Array(PARTS * 2 * PART_SIZE);
  readonly #power = new Float64Array(BINS);
  readonly #window = hannWindow();
  readonly #cosines = Float64Array.from({ length: FRAME_LENGTH_SAMPLES }, (_, i) =>
    Math.cos((2 * Math.PI * i) / FRAME_LENGTH_SAMPLES),
  );
  readonly #sines = Float64Array.from({ length: FRAME_LENGTH_SAMPLES }, (_, i) =>
    Math.sin((2 * Math.PI * i) / FRAME_LENGTH_SAMPLES),
  );
  readonly #filters = slaneyFilters();

  /** @param out 80 values: log10 of each mel band's energy. */
  compute(frame: Float32Array, out: Float32Array): void {
    for (let n = 0; n < PARTS; n++) {
      for (let i = 0; i < PART_SIZE; i++) {
        const at = PARTS * i + n;
        this.#part[i] = (frame[at] ?? 0) * (this.#window[at] ?? 0);
      }
      this.#fft.realTransform(this.#partSpectrum, this.#part);
      this.#fft.completeSpectrum(this.#partSpectrum);
      this.#spectra.set(this.#partSpectrum, n * 2 * PART_SIZE);
    }
    for (let bin = 0; bin < BINS; bin++) this.#power[bin] = this.#powerAt(bin);
    applyMelFilters(this.#filters, this.#power, out);
    for (let band = 0; band < MEL_BINS; band++)
      out[band] = Math.log10(Math.max(out[band] ?? 0, ENERGY_FLOOR));
  }

  /** |X[k]|² with X[k] = Σ over parts n of e^(−2πi·n·k/400) · (spectrum of part n at k mod 16). */
  #powerAt(bin: number): number {
    let re = 0;
    let im = 0;
    let angle = 0;
    for (let at = 2 * (bin % PART_SIZE); at < this.#spectra.length; at += 2 * PART_SIZE) {
      const cosine = this.#cosines[angle] ?? 0;
      const sine = this.#sines[angle] ?? 0;
      const partRe = this.#spectra[at] ?? 0;
      const partIm = this.#spectra[at + 1] ?? 0;
      re += partRe * cosine + partIm * sine;
      im += partIm * cosine - partRe * sine;
      angle = (angle + bin) % FRAME_LENGTH_SAMPLES;
    }
    return re * re + im * im;
  }
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

/** The periodic form. */
function hannWindow(): Float64Array {
  return Float64Array.from(
    { length: FRAME_LENGTH_SAMPLES },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / FRAME_LENGTH_SAMPLES),
  );
}

/** Triangles linear in Hz between points equally far apart on Slaney's mel scale, each with area 1 (in Hz). */
function slaneyFilters(): MelFilter[] {
  const top = hzToMel(SAMPLE_RATE_HZ / 2);
  const hz = Array.from({ length: MEL_BINS + 2 }, (_, i) => melToHz((top * i) / (MEL_BINS + 1)));
  return Array.from({ length: MEL_BINS }, (_, band) => {
    const [left = 0, centre = 0, right = 0] = hz.slice(band, band + 3);
    return triangle(BINS, (bin) => {
      const at = (SAMPLE_RATE_HZ / FRAME_LENGTH_SAMPLES) * bin;
      if (at <= left || at >= right) return 0;
      const height = at <= centre ? (at - left) / (centre - left) : (right - at) / (right - centre);
      return (2 * height) / (right - left);
    });
  });
}

/** Slaney's scale: linear to 1000 Hz (15 mel), then 27 mel for every factor of 6.4. */
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
