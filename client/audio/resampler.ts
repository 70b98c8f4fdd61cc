import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';

const STOP_BAND_DB = 75;
/** Where the pass band ends, as a part of the stop band's edge: at 7.2 of 8 kHz for rates above 16 kHz. */
const PASS_EDGE = 0.9;

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/** Modified Bessel function of the first kind, order 0. This power series is quick for a Kaiser window. */
function besselI0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/**
 * Continuous low-pass polyphase resampler from any other rate to 16 kHz. The filter is a Kaiser-windowed
 * sinc. An output sample can lie at `phases` places between two input samples, and there is one set of
 * coefficients for each place. Output n is the signal at n / 16000 s, with no delay added. It comes out once
 * half a filter's length of input behind it is there. However the input is cut into blocks, the output is the
 * same to the bit.
 */
export class Resampler {
  /** Input samples on each side that one output sample looks at. */
  readonly halfTaps: number;
  readonly #phases: number;
  readonly #step: number;
  /** `phases` rows of 2 · halfTaps coefficients. */
  readonly #coefficients: Float32Array;
  /** Input that is still needed. It begins `halfTaps` − 1 samples before the next output's place. */
  #pending: Float32Array;
  /** Where the next output lies after `#pending[halfTaps − 1]`, in 1/phases of an input sample. */
  #position = 0;

  /** @param inputRateHz a whole number from 8,000 to 384,000; not 16,000, where there is nothing to do */
  constructor(inputRateHz: number) {
    const divisor = commonDivisor(inputRateHz, SAMPLE_RATE_HZ);
    this.#phases = SAMPLE_RATE_HZ / divisor;
    this.#step = inputRateHz / divisor;
    const stopHz = Math.min(inputRateHz, SAMPLE_RATE_HZ) / 2;
    const passHz = PASS_EDGE * stopHz;
    // Taps for this attenuation over this transition: Kaiser, "Nonrecursive digital filter design using the
    // I0-sinh window function", 1974.
    const taps = (STOP_BAND_DB - 7.95) / ((14.36 * (stopHz - passHz)) / inputRateHz);
    this.halfTaps = Math.ceil(taps / 2);
    this.#coefficients = polyphase(this.#phases, this.halfTaps, (passHz + stopHz) / inputRateHz);
    this.#pending = new Float32Array(this.halfTaps - 1);
  }

  /** Takes the next samples at the device's rate. @returns the 16 kHz samples that they complete */
  push(input: Float32Array): Float32Array {
    const pending = new Float32Array(this.#pending.length + input.length);
    pending.set(this.#pending);
    pending.set(input, this.#pending.length);
    const taps = 2 * this.halfTaps;
    const ready = (pending.length - taps + 1) * this.#phases - this.#position;
    const output = new Float32Array(Math.max(0, Math.ceil(ready / this.#step)));
    for (let n = 0; n < output.length; n += 1) {
      const first = Math.floor(this.#position / this.#phases);
      const row = (this.#position % this.#phases) * taps;
      let sum = 0;
      for (let k = 0; k < taps; k += 1) {
        sum += (pending[first + k] ?? 0) * (this.#coefficients[row + k] ?? 0);
      }
      output[n] = sum;
      this.#position += this.#step;
    }
    const used = Math.min(pending.length, Math.floor(this.#position / this.#phases));
    this.#pending = pending.slice(used);
    this.#position -= used * this.#phases;
    return output;
  }

  /** The last samples, whose filter reaches over the end of the input. Call once, after the last `push`. */
  flush(): Float32Array {
    return this.push(new Float32Array(this.halfTaps));
  }
}

/** @param cutoff twice the cut-off frequency (−6 dB) over the input rate. */
function polyphase(phases: number, halfTaps: number, cutoff: number): Float32Array {
  const taps = 2 * halfTaps;
  // Kaiser's shape of the window for an attenuation over 50 dB.
  const beta = 0.1102 * (STOP_BAND_DB - 8.7);
  const rows = new Float32Array(phases * taps);
  for (let phase = 0; phase < phases; phase += 1) {
    const row = new Float64Array(taps);
    let sum = 0;
    for (let k = 0; k < taps; k += 1) {
      const t = k - (halfTaps - 1) - phase / phases;
      const x = Math.PI * cutoff * t;
      const sinc = x === 0 ? 1 : Math.sin(x) / x;
      const value = sinc * besselI0(beta * Math.sqrt(Math.max(0, 1 - (t / halfTaps) ** 2)));
      row[k] = value;
      sum += value;
    }
    // Every phase has the same gain at 0 Hz, exactly 1: no ripple at the phase's own rhythm.
    for (let k = 0; k < taps; k += 1) rows[phase * taps + k] = (row[k] ?? 0) / sum;
  }
  return rows;
}
