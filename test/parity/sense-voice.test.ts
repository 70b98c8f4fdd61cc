import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadModel } from '../../inference/engine/families/load-model.ts';
import { OnnxModel } from '../../inference/engine/onnx/onnx-session.ts';
import { DEFAULT_SET, readSet } from '../eval/sets.ts';
import {
  CHINESE,
  heard,
  loadSenseVoices,
  SENSE_VOICE_DIR,
} from '../unit/inference/engine/sense-voice-pair.ts';

const speech = (await readSet(DEFAULT_SET))[3]?.pcm ?? Buffer.alloc(0);

describe('a recording', () => {
  test('has the same text however it is cut, and until then that of its beginning', async () => {
    const { model, ours } = await loadSenseVoices('model.onnx', CHINESE);
    const pcm = speech.subarray(0, 2 * 20_001);
    const whole = await ours(pcm);
    expect(whole).not.toBe('');
    // 1 sample, 161, 100 ms, 500 ms.
    for (const pieceBytes of [2, 322, 3200, 16_000]) {
      const pieces: Buffer[] = [];
      for (let start = 0; start < pcm.length; start += pieceBytes)
        pieces.push(pcm.subarray(start, start + pieceBytes));
      expect(await heard(model, pieces)).toBe(whole);
    }
    const recording = model.open(new AbortController().signal);
    for (const [start, end] of [
      [0, 8000],
      [8000, 24_000],
      [24_000, 40_000],
    ] as const) {
      const update = await recording.accept(pcm.subarray(start, end));
      expect(update).toBe(await ours(pcm.subarray(0, end)));
    }
  });

  test('is run only when there is a frame more', async () => {
    const { model } = await loadSenseVoices('model.onnx', CHINESE);
    const runs = vi.spyOn(OnnxModel.prototype, 'run');
    onTestFinished(() => runs.mockRestore());
    const recording = model.open(new AbortController().signal);
    // Samples, and the runs behind them: the first frame has 400 samples, and each further one 160.
    for (const [samples, count] of [
      [399, 0],
      [1, 1],
      [0, 1],
      [159, 1],
      [1, 2],
      [16_000, 3],
    ] as const) {
      await recording.accept(speech.subarray(0, 2 * samples));
      expect(runs).toHaveBeenCalledTimes(count);
    }
    await recording.finish(new Uint8Array(0));
    expect(runs).toHaveBeenCalledTimes(3);
  });

  test('that is closed is run no more', async () => {
    const { model } = await loadSenseVoices('model.onnx', CHINESE);
    const runs = vi.spyOn(OnnxModel.prototype, 'run');
    onTestFinished(() => runs.mockRestore());
    const closed = new AbortController();
    const recording = model.open(closed.signal);
    closed.abort(new Error('closed'));
    await expect(recording.finish(speech)).rejects.toThrow('closed');
    expect(runs).not.toHaveBeenCalled();
  });
});

test('a folder with a SenseVoice loads, speaks Chinese and writes digits and punctuation', async () => {
  const { model, info, release } = await loadModel(SENSE_VOICE_DIR, {
    providers: ['cpu'],
    threads: 1,
    log: () => {},
  });
  onTestFinished(release);
  expect(info).toMatchObject({
    family: 'sense-voice',
    features: 'funasr',
    stepMs: 500,
    vocabularySize: 395,
    provider: 'cpu',
  });
  const { ours } = await loadSenseVoices('model.int8.onnx', CHINESE);
  const text = await model.open(new AbortController().signal).finish(speech);
  expect(text).toBe(await ours(speech));
  const plain = await loadSenseVoices('model.int8.onnx', { language: 'zh', itn: false });
  expect(text).not.toBe(await plain.ours(speech));
});
