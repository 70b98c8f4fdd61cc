import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Resampler } from '../../../../client/audio/resampler.ts';
import { SAMPLE_RATE_HZ } from '../../../../common/audio/limits.ts';

const DEVICE_RATES_HZ = [44_100, 48_000, 96_000];
const ALL_RATES_HZ = [8_000, 11_025, 22_050, 24_000, 32_000, ...DEVICE_RATES_HZ, 192_000];

/** The signal at every sample of `seconds` at `rateHz`. */
function sampled(rateHz: number, seconds: number, signal: (t: number) => number): Float32Array {
  return Float32Array.from({ length: Math.round(rateHz * seconds) }, (_, n) => signal(n / rateHz));
}

function resample(
  rateHz: number,
  input: Float32Array,
  blockSizes: Iterable<number> = [input.length],
): Float32Array {
  const resampler = new Resampler(rateHz);
  const output: number[] = [];
  let start = 0;
  for (const size of blockSizes) {
    output.push(...resampler.push(input.subarray(start, start + size)));
    start += size;
  }
  output.push(...resampler.push(input.subarray(start)), ...resampler.flush());
  return Float32Array.from(output);
}

/** A sweep from `fromHz` to `toHz` (linear in time, amplitude 1). */
const sweep = (fromHz: number, toHz: number, seconds: number) => (t: number) =>
  Math.sin(2 * Math.PI * (fromHz * t + ((toHz - fromHz) * t * t) / (2 * seconds)));

/** Without the ends, where the signal begins and stops at once and so has every frequency. */
const steady = (samples: Float32Array) => samples.subarray(800, samples.length - 800);
const peak = (samples: Float32Array) => samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const decibel = (ratio: number) => 20 * Math.log10(ratio);

/** The amplitude of a sine of `frequencyHz` in the samples, by projection on sine and cosine over the samples given. */
function amplitude(samples: Float32Array, frequencyHz: number): number {
  let re = 0;
  let im = 0;
  for (const [n, value] of samples.entries()) {
    const angle = (2 * Math.PI * frequencyHz * n) / SAMPLE_RATE_HZ;
    re += value * Math.cos(angle);
    im += value * Math.sin(angle);
  }
  return (2 * Math.hypot(re, im)) / samples.length;
}

describe('the resampler', () => {
  it.each(DEVICE_RATES_HZ)('is flat within 0.5 dB up to 7 kHz at %i Hz', (rateHz) => {
    for (let frequencyHz = 100; frequencyHz <= 7_000; frequencyHz += 300) {
      const output = resample(
        rateHz,
        sampled(rateHz, 0.3, (t) => Math.sin(2 * Math.PI * frequencyHz * t)),
      );
      // 0.2 s: a whole number of periods of every multiple of 100 Hz.
      const gain = decibel(amplitude(output.subarray(800, 800 + 3_200), frequencyHz));
      expect(Math.abs(gain), `${frequencyHz} Hz`).toBeLessThan(0.5);
    }
  });

  it.each(DEVICE_RATES_HZ)('keeps at least 60 dB of what lies above 8 kHz out at %i Hz', (rateHz) => {
    const seconds = 1;
    const output = resample(rateHz, sampled(rateHz, seconds, sweep(8_000, rateHz / 2, seconds)));
    expect(decibel(peak(steady(output)))).toBeLessThan(-60);
    // The same measure sees a sweep that belongs there, so it is no measure that is always small.
    const heard = resample(rateHz, sampled(rateHz, seconds, sweep(100, 7_000, seconds)));
    expect(Math.abs(decibel(peak(steady(heard))))).toBeLessThan(0.5);
  });

  it.each(ALL_RATES_HZ)('gives the signal at its own time, %i Hz', (rateHz) => {
    const signal = (t: number) =>
      0.5 * Math.sin(2 * Math.PI * 440 * t) + 0.3 * Math.cos(2 * Math.PI * 3_100 * t);
    const output = resample(rateHz, sampled(rateHz, 0.4, signal));
    const wanted = sampled(SAMPLE_RATE_HZ, 0.4, signal);
    expect(output.length).toBe(wanted.length);
    const difference = steady(output).map((value, n) => value - (wanted[n + 800] ?? Number.NaN));
    expect(peak(difference)).toBeLessThan(0.001);
  });

  it.each([8_000, 11_025])('makes no mirror image above the input’s own band, %i Hz', (rateHz) => {
    const output = steady(
      resample(
        rateHz,
        sampled(rateHz, 0.5, (t) => Math.sin(2 * Math.PI * 3_000 * t)),
      ),
    );
    const image = amplitude(output.subarray(0, 3_200), rateHz - 3_000);
    expect(decibel(image)).toBeLessThan(-60);
  });

  it('gives the same samples to the bit however the input is cut', () => {
    const noise = Float32Array.from({ length: 3_000 }, (_, n) => Math.fround(Math.sin(n * n * 12.9898)));
    for (const rateHz of [44_100, 48_000, 8_000]) {
      const whole = resample(rateHz, noise);
      expect(resample(rateHz, noise, Array(30).fill(128))).toEqual(whole);
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 20 }), (sizes) => {
          expect(resample(rateHz, noise, sizes)).toEqual(whole);
        }),
        { numRuns: 10 },
      );
    }
  });

  it('gives as many samples as the input’s duration has at 16 kHz', () => {
    for (const rateHz of ALL_RATES_HZ) {
      for (const length of [0, 1, 2, 127, 128, 4_801]) {
        const output = resample(rateHz, new Float32Array(length));
        expect(output.length).toBe(Math.ceil((length * SAMPLE_RATE_HZ) / rateHz));
      }
    }
  });
});
