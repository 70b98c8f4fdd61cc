import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadModel } from '../../inference/engine/families/load-model.ts';
import { countErrors, errorRatePercent } from '../eval/error-rate.ts';
import { BYTE_BPE_SYMBOLS, CHINESE_SYMBOLS } from '../onnx/model-folder.ts';
import { type SmallOfflineCtc, writeSmallOfflineCtc } from '../onnx/offline-ctc.ts';
import { offlineCtcReference } from '../onnx/offline-reference.ts';
import { fileFolder } from '../support/machine/folders.ts';
import {
  boundaryRecordings,
  pcmBytes,
  realSpeech,
  recordings,
  withSilence,
} from '../unit/inference/engine/recordings.ts';

/** Seconds where nothing else runs; a shared machine may take many times that. */
const LONG = { timeout: 120_000 };
/** Here are nine frames, ten, eleven; and here the last one but one needs no mirrored sample. */
const BOUNDARIES = [1360, 1520, 1680, 1720, 1880] as const;
/** With fewer, sherpa-onnx ends the process: the graph has no row then. */
const NINE_FRAMES_SAMPLES = 1360;

const workDir = fileFolder();

interface Loaded {
  theirs(samples: Int16Array): string;
  /** The texts of its updates, then the final one. */
  texts(pieces: readonly Int16Array[]): Promise<string[]>;
}

async function load(name: string, small: Partial<SmallOfflineCtc> = {}): Promise<Loaded> {
  const folder = join(workDir, name);
  const file = writeSmallOfflineCtc(folder, { symbols: CHINESE_SYMBOLS, ...small });
  const { model, info, release } = await loadModel(folder, {
    providers: ['cpu'],
    threads: 1,
    log: () => {},
  });
  onTestFinished(release);
  expect(info).toMatchObject({ family: 'offline-zipformer-ctc', isReDecoding: true, features: 'kaldi' });
  // So hot words are taken by sound alone.
  expect(model.judges).toBe(false);
  const reference = offlineCtcReference(join(folder, file), join(folder, 'tokens.txt'));
  return {
    theirs: (samples) => reference.recognize(withSilence(samples, 0)).text,
    texts: async (pieces) => {
      const recording = model.open(new AbortController().signal);
      const texts: string[] = [];
      for (const piece of pieces) texts.push(await recording.accept(pcmBytes(piece)));
      return [...texts, await recording.finish(new Uint8Array(0))];
    },
  };
}

describe.each([
  ['characters', CHINESE_SYMBOLS],
  ['byte-level BPE', BYTE_BPE_SYMBOLS],
])('an offline CTC model of %s', (name, symbols) => {
  test('says what sherpa-onnx says of the audio so far, and at the end', LONG, async () => {
    const { theirs, texts } = await load(`speech-${name}`, { symbols });
    const said = new Set<string>();
    for (const { name, samples } of realSpeech()) {
      const [start, rest] = [samples.subarray(0, 20_001), samples.subarray(20_001)];
      const ours = await texts([start, rest]);
      expect(ours, name).toEqual([start, samples, samples].map(theirs));
      for (const character of ours.join('')) said.add(character);
    }
    // A model that says next to nothing would agree with anything.
    expect(said.size).toBeGreaterThan(15);
  });
});

test('an offline CTC model takes recordings of any length and kind', LONG, async () => {
  const { theirs, texts } = await load('odd');
  const odd = [...recordings().slice(10), ...boundaryRecordings(BOUNDARIES)];
  expect(odd.length).toBeGreaterThanOrEqual(30);
  for (const { name, samples } of odd) {
    const text = samples.length < NINE_FRAMES_SAMPLES ? '' : theirs(samples);
    expect(await texts([samples]), name).toEqual([text, text]);
  }
});

test(
  'an offline CTC model with int8 weights says it, but for the roundings of the features',
  LONG,
  async () => {
    const { theirs, texts } = await load('int8', { int8: true });
    let [ourText, theirText] = ['', ''];
    for (const { samples } of realSpeech()) {
      ourText += (await texts([samples])).at(-1);
      theirText += theirs(samples);
    }
    expect(theirText.length).toBeGreaterThan(100);
    expect(errorRatePercent(countErrors(theirText, ourText))).toBeLessThanOrEqual(1);
  },
);

test('an offline CTC model says the same at the end however the samples are cut', LONG, async () => {
  const { texts } = await load('cut');
  const samples = realSpeech()[1]?.samples.subarray(0, 30_001) ?? new Int16Array(0);
  const [, whole] = await texts([samples]);
  expect(whole).not.toBe('');
  // 1 sample at the end, 20 ms, 500 ms.
  const cuts = [[samples.subarray(0, -1), samples.subarray(-1)]];
  for (const size of [320, 8000]) {
    const count = Math.ceil(samples.length / size);
    cuts.push(Array.from({ length: count }, (_, i) => samples.subarray(size * i, size * (i + 1))));
  }
  for (const pieces of cuts) expect((await texts(pieces)).at(-1)).toBe(whole);
});

test('an offline CTC model says nothing of rows behind the length that it gives', LONG, async () => {
  const [all, fewer] = [await load('all'), await load('fewer', { surplusRows: 30 })];
  const samples = realSpeech()[0]?.samples.subarray(0, 40_000) ?? new Int16Array(0);
  const [text = ''] = await all.texts([samples]);
  const [shorter = ''] = await fewer.texts([samples]);
  expect(shorter).toBe(fewer.theirs(samples));
  expect(shorter).not.toBe('');
  expect(text.length).toBeGreaterThan(shorter.length);
});
