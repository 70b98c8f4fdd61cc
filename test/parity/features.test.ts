import { describe, expect, test } from 'vitest';
import { createFilterBank, FeatureExtractor } from '../../inference/engine/features/feature-extractor.ts';
import { FrameWindow } from '../../inference/engine/features/frame-window.ts';
import { SNIPPED_FRAMING } from '../../inference/engine/features/frames.ts';
import { GrowingFrames } from '../../inference/engine/features/growing-frames.ts';
import { KaldiFbank } from '../../inference/engine/features/kaldi-fbank.ts';
import {
  normalizeWhisperWindow,
  WHISPER_FRAMING,
  WhisperFbank,
} from '../../inference/engine/features/whisper-fbank.ts';
import { Weights } from '../onnx/weights.ts';
import { fixtures } from '../support/audio/fixtures.ts';
import { withSilence } from '../unit/inference/engine/recordings.ts';
import {
  referenceKaldi,
  referenceWhisper,
  SENSE_VOICE,
} from '../unit/inference/engine/reference-features.ts';

const BINS = 80;

/** All frames, the samples fed in pieces. */
function extract(
  features: 'kaldi' | 'whisper',
  samples: Float32Array,
  pieceSamples = samples.length,
): Float32Array[] {
  const extractor = new FeatureExtractor(createFilterBank(features));
  const window = new FrameWindow(1, 1);
  const frames: Float32Array[] = [];
  // One frame is handed over when the next one is there: the last one is got out with silence.
  const feed = (piece: Float32Array): void => {
    for (let next = 0; next < piece.length; ) {
      next = extractor.accept(piece, next, window);
      if (!window.full) continue;
      frames.push(window.frames.slice());
      window.advance();
    }
  };
  for (let start = 0; start < samples.length; start += pieceSamples) {
    feed(samples.subarray(start, start + pieceSamples));
  }
  return frames;
}

function maxDifference(frames: readonly Float32Array[], expected: readonly number[][]): number {
  let max = 0;
  for (const [f, frame] of frames.entries()) {
    for (let bin = 0; bin < BINS; bin++) {
      max = Math.max(max, Math.abs((frame[bin] ?? Number.NaN) - (expected[f]?.[bin] ?? Number.NaN)));
    }
  }
  return max;
}

const speech = withSilence(fixtures()[4]?.samples.subarray(8000, 24_000) ?? new Int16Array(0), 400);
const noise = Float32Array.from(new Weights(3).normals(8000, 0.3), (value) =>
  Math.max(-1, Math.min(1, value)),
);
const tone = Float32Array.from({ length: 4000 }, (_, i) => Math.sin((2 * Math.PI * 440 * i) / 16_000));
const signals = { speech, noise, tone };

describe.each(['kaldi', 'whisper'] as const)('%s features', (features) => {
  const reference = features === 'kaldi' ? referenceKaldi : referenceWhisper;

  test.each(Object.entries(signals))(
    'of %s are those of a plain float64 computation',
    { timeout: 60_000 },
    (_, samples) => {
      const frames = extract(features, samples);
      // Frame f is there once 160 f + 280 samples are, and is handed over with the one behind it.
      expect(frames).toHaveLength(Math.floor((samples.length - 280) / 160));
      expect(maxDifference(frames, reference(samples, frames.length))).toBeLessThan(1e-4);
    },
  );

  test('are the same to the last bit however the samples are cut', () => {
    const whole = extract(features, speech);
    for (const pieceSamples of [1, 7, 160, 1600])
      expect(extract(features, speech, pieceSamples)).toEqual(whole);
  });
});

describe.each([80, 128])("Whisper's own features, in %i bands", (bands) => {
  test.each(Object.entries(signals))(
    'of %s with silence behind it are those of a plain float64 computation, however it is cut',
    { timeout: 60_000 },
    (_, samples) => {
      const frames = Math.floor(samples.length / 160) + 20;
      const expected = referenceWhisper(samples, frames, { bands, centred: true });
      for (const pieceSamples of [samples.length, 1601]) {
        const growing = new GrowingFrames(new WhisperFbank(bands), WHISPER_FRAMING);
        for (let start = 0; start < samples.length; start += pieceSamples) {
          growing.accept(samples.subarray(start, start + pieceSamples));
          // What an update looks at changes nothing for the next one.
          growing.followedBySilence(frames);
        }
        const values = growing.followedBySilence(frames);
        expect(values).toHaveLength(frames * bands);
        let max = 0;
        for (const [i, value] of values.entries())
          max = Math.max(max, Math.abs(value - (expected[Math.floor(i / bands)]?.[i % bands] ?? Number.NaN)));
        expect(max).toBeLessThan(1e-4);
      }
    },
  );

  test('of a single sample, and of silence', () => {
    const growing = new GrowingFrames(new WhisperFbank(bands), WHISPER_FRAMING);
    growing.accept(Float32Array.of(0.5));
    const [first, second] = [
      growing.followedBySilence(2).subarray(0, bands),
      growing.followedBySilence(2).subarray(bands),
    ];
    expect(Math.max(...first)).toBeGreaterThan(-10);
    expect(Math.max(...second)).toBeGreaterThan(-10);
    expect(new Set(growing.followedBySilence(800).subarray(2 * bands))).toEqual(new Set([-10]));
  });
});

test.each(Object.entries(signals))(
  "SenseVoice's features of %s are those of a plain float64 computation",
  { timeout: 60_000 },
  (_, samples) => {
    const { highHz, scale } = SENSE_VOICE;
    const growing = new GrowingFrames(new KaldiFbank({ window: 'hamming', highHz, scale }), SNIPPED_FRAMING);
    growing.accept(samples);
    const values = growing.complete();
    const frames = Array.from({ length: values.length / BINS }, (_, f) =>
      values.subarray(f * BINS, (f + 1) * BINS),
    );
    // Whole windows only.
    expect(frames).toHaveLength(1 + Math.floor((samples.length - 400) / 160));
    expect(maxDifference(frames, referenceKaldi(samples, frames.length, SENSE_VOICE))).toBeLessThan(1e-4);
  },
);

test('digital silence is the floor of the Kaldi features', () => {
  const frames = extract('kaldi', new Float32Array(2000));
  expect(frames).toHaveLength(10);
  for (const frame of frames) {
    for (const value of frame) expect(value).toBeCloseTo(-15.942385, 6);
  }
});

test('the first frame hears the first sample', () => {
  const samples = new Float32Array(1000);
  const silent = extract('kaldi', samples)[0];
  samples[0] = 0.5;
  expect(extract('kaldi', samples)[0]).not.toEqual(silent);
});

test("Whisper's range is limited to 8 decades below the loudest value of a step", () => {
  const out = new Float32Array(4);
  normalizeWhisperWindow(Float32Array.of(2, -10, -5.5, 0), out);
  expect([...out]).toEqual([1.5, -0.5, -0.375, 1]);
});
