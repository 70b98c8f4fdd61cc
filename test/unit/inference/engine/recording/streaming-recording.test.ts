import { describe, expect, test } from 'vitest';
import {
  createFilterBank,
  FeatureExtractor,
} from '../../../../../inference/engine/features/feature-extractor.ts';
import { FrameWindow } from '../../../../../inference/engine/features/frame-window.ts';
import type { AcousticModel } from '../../../../../inference/engine/recording/acoustic-model.ts';
import { StreamingRecording } from '../../../../../inference/engine/recording/streaming-recording.ts';
import { TokenTable } from '../../../../../inference/engine/text/tokens.ts';
import { TranscriptWriter } from '../../../../../inference/engine/text/transcript.ts';
import { pcmBytes, withSilence } from '../recordings.ts';

const WINDOW_FRAMES = 3;
const BINS = 80;

/** A recording by a model that is these steps. */
function recordingOf(
  step: (frames: Float32Array) => Promise<void>,
  shiftFrames: number,
  onRun: (stepCount: number) => void = () => {},
): StreamingRecording {
  const layout = { features: 'kaldi', windowFrames: WINDOW_FRAMES, shiftFrames } as const;
  const tokens = new TokenTable('tokens.txt', new Map([[0, '<blk>']]));
  const model: AcousticModel = {
    transcript: new TranscriptWriter(tokens),
    vocabularySize: 1,
    layout,
    onnx: { provider: 'cpu' },
    open: () => ({
      tokenIds: [],
      run: async (steps) => {
        onRun(steps.length);
        for (const frames of steps) await step(frames);
      },
    }),
  };
  const extractor = new FeatureExtractor(createFilterBank('kaldi'));
  return new StreamingRecording(model, extractor, new AbortController().signal);
}

test('samples are fractions of 32,768, and each step hears its frames of them', async () => {
  const samples = Int16Array.from({ length: 8000 }, (_, i) => (i % 100 < 50 ? -32_768 : 32_767));
  const heard: Float32Array[] = [];
  const recording = recordingOf(async (frames) => void heard.push(frames.slice()), 2);
  await recording.accept(pcmBytes(samples));
  const extractor = new FeatureExtractor(createFilterBank('kaldi'));
  const window = new FrameWindow(51, 1);
  extractor.accept(withSilence(samples, 800), 0, window);
  const frames = window.frames;
  // A step runs when the frame behind its window is there, and 8000 samples end in the 50th.
  expect(heard).toHaveLength(23);
  for (const [step, found] of heard.entries()) {
    expect(found).toEqual(frames.subarray(2 * step * BINS, (2 * step + WINDOW_FRAMES) * BINS));
  }
});

describe('behind the last sample', () => {
  // The frames 0, 1, 2 … begin at the samples -120, 40, 200 …
  test.each([
    [1, 1, 1],
    [40, 1, 1],
    [41, 1, 2],
    [200, 1, 2],
    [201, 1, 3],
    [41, 2, 2],
    [201, 2, 3],
    [16_000, 2, 101],
  ])('%i of them, in steps of %i, 0.6 s of silence is heard', async (count, shiftFrames, recordedFrames) => {
    let steps = 0;
    const recording = recordingOf(async () => void steps++, shiftFrames);
    await recording.finish(new Uint8Array(2 * count));
    expect(steps).toBe(Math.ceil((recordedFrames + 60) / shiftFrames));
  });

  test('none, and nothing is run', async () => {
    let steps = 0;
    const recording = recordingOf(async () => void steps++, 1);
    expect(await recording.finish(new Uint8Array())).toBe('');
    expect(steps).toBe(0);
  });
});

test('steps that the audio is there for are run together, up to 64', async () => {
  const counts: number[] = [];
  const recording = recordingOf(
    async () => {},
    2,
    (count) => counts.push(count),
  );
  const step = new Uint8Array(2 * 320);
  // The fourth frame, with which the first step runs, ends here.
  await recording.accept(new Uint8Array(2 * 760));
  await recording.accept(step);
  expect(counts).toEqual([1, 1]);
  await recording.accept(new Uint8Array(140 * step.length));
  expect(counts).toEqual([1, 1, 64, 64, 12]);
  // With the 32 of the silence behind it.
  await recording.finish(new Uint8Array(10 * step.length));
  expect(counts.slice(5)).toEqual([42]);
});
