import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { loadModel } from '../../inference/engine/families/load-model.ts';
import type { Hotword } from '../../inference/engine/postprocessing/hotword-list.ts';
import type { EngineModel, EngineRecording } from '../../inference/engine/recording/engine-model.ts';
import { OnnxRecognizer, type OnnxRecognizerOptions } from '../../inference/engine/thread/engine.ts';
import { modelFolders } from '../../models/store/store.ts';
import { DEFAULT_SET, type Recording, readSet } from '../eval/sets.ts';
import { Weights } from '../onnx/weights.ts';
import { MAX_SAMPLES, pcmBytes } from '../unit/inference/engine/recordings.ts';

const CHUNK_BYTES = 16_000;
/** Their texts are the same on processors with AVX2, with VNNI and with AMX instructions: int8 products differ a little. */
const SAME_EVERYWHERE = {
  'BAC009S0150W0300.wav': '但也会根据市场需求将部分产能用于生产移动处理器。',
  'BAC009S0150W0409.wav': '他笑说自己完全没准备好。',
};

let model: EngineModel;
let release: () => Promise<void>;
let recordings: readonly Recording[];

beforeAll(async () => {
  const options = { providers: ['cpu'], threads: 1, log: () => {} } as const;
  ({ model, release } = await loadModel(modelFolders().bundled, options));
  recordings = await readSet(DEFAULT_SET);
});
afterAll(() => release());

const open = (): EngineRecording => model.open(new AbortController().signal);

function named(name: string): Recording {
  const found = recordings.find((recording) => recording.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

/** As a stream: in pieces of half a second. */
async function streamed(pcm: Uint8Array): Promise<{ partials: string[]; text: string }> {
  const recording = open();
  const partials: string[] = [];
  let start = 0;
  for (; start + CHUNK_BYTES < pcm.length; start += CHUNK_BYTES)
    partials.push(await recording.accept(pcm.subarray(start, start + CHUNK_BYTES)));
  return { partials, text: await recording.finish(pcm.subarray(start)) };
}

describe('real recordings', { timeout: 120_000 }, () => {
  test.each(Object.entries(SAME_EVERYWHERE))('%s is %s', async (name, text) => {
    expect(await open().finish(named(name).pcm)).toBe(text);
  });

  test.each(['BAC009S0150W0155.wav'])(
    '%s gives the same text as a stream as in one piece, also where nothing is left at the end, and partials on the way',
    async (name) => {
      const { pcm } = named(name);
      const whole = await open().finish(pcm);
      const { partials, text } = await streamed(pcm);
      expect(text).toBe(whole);
      const shown = partials.filter((partial) => partial !== '');
      expect(shown.length).toBeGreaterThan(4);
      for (const partial of shown) expect(partial).not.toMatch(/[，。,.]$/);
      const recording = open();
      await recording.accept(pcm);
      expect(await recording.finish(new Uint8Array(0))).toBe(whole);
    },
  );
});

describe('recordings of several sentences', { timeout: 120_000 }, () => {
  /** One more in front would be too long for three. */
  const [LAUGHS, FEE, REALLY] = [
    'BAC009S0150W0409.wav',
    'BAC009S0150W0453.wav',
    'tfasr_S0764_0121.wav',
  ] as const;
  const WORDS = { [LAUGHS]: '完全没准备好', [FEE]: '出库时', [REALLY]: '甚至出现交易' };

  function quiet(seconds: number, level: number): Buffer {
    const random = new Weights(5);
    return Buffer.from(
      pcmBytes(Int16Array.from({ length: seconds * 16_000 }, () => Math.round(random.normal(level)))),
    );
  }

  const said = (text: string, words: string): number => text.split(words).length - 1;

  test.each([
    ['a pause of digital silence', [LAUGHS, FEE], 1, 0, 0],
    ['a long pause with noise', [FEE, REALLY], 3, 60, 0],
    ['three', [LAUGHS, REALLY, FEE], 0.8, 0, 0],
    ['the same twice', [LAUGHS, LAUGHS], 0.8, 0, 0],
    ['six seconds of silence in front', [REALLY], 0, 0, 6],
    ['five seconds of noise in front', [LAUGHS], 0, 20, 5],
  ] as const)(
    '%s: each as often as it was said, over both ways',
    async (_what, names, pause, level, leadSeconds) => {
      const parts = names.flatMap((name) => [quiet(pause, level), named(name).pcm]);
      const pcm = Buffer.concat([quiet(leadSeconds, level), ...parts.slice(1)]);
      const text = await open().finish(pcm);
      for (const name of names)
        expect(said(text, WORDS[name]), text).toBe(names.filter((other) => other === name).length);
      const stream = await streamed(pcm);
      expect(stream.text).toBe(text);
      // Also shown before the end.
      for (const name of names) expect(stream.partials.join(), text).toContain(WORDS[name].slice(0, 3));
    },
  );
});

describe('what was said, and nothing else:', { timeout: 120_000 }, () => {
  const BYTES_PER_SECOND = 32_000;
  /** A stretch of a recording, in seconds. */
  function cut({ pcm }: Recording, start: number, end: number): Uint8Array {
    return pcm.subarray(BYTES_PER_SECOND * start, BYTES_PER_SECOND * end);
  }

  /** Stretches of a recording with pauses between them: its own first 0.1 s again and again. */
  function withPauses(
    name: string,
    seconds: number,
    stretches: readonly (readonly [number, number])[],
  ): Buffer {
    const recording = named(name);
    const pause = Array.from({ length: 10 * seconds }, () => cut(recording, 0, 0.1));
    const parts = stretches.flatMap(([start, end]) => [...pause, cut(recording, start, end)]);
    return Buffer.concat(parts.slice(pause.length));
  }

  test.each([
    [
      'a sentence with a pause in it',
      'BAC009S0150W0191.wav',
      0.9,
      [
        [0, 1.96],
        [1.96, 4.28],
      ],
      /[。！？].*[\p{L}\p{N}]/u,
    ],
    [
      'a telephone number',
      'BAC009S0150W0095.wav',
      0.7,
      [
        [0.25, 1.46],
        [1.46, 2.99],
        [2.99, 4.54],
      ],
      /[。，！？].*[\p{L}\p{N}]/u,
    ],
  ] as const)('no stop within %s, not even for a moment', async (_what, name, seconds, stretches, stop) => {
    const pcm = withPauses(name, seconds, stretches);
    const text = await open().finish(pcm);
    expect(text).not.toMatch(stop);
    const stream = await streamed(pcm);
    expect(stream.text).toBe(text);
    for (const partial of stream.partials) expect(partial).not.toMatch(stop);
  });

  test('a sentence that was said twice with a short pause comes twice', async () => {
    const name = 'BAC009S0150W0015.wav';
    const sentence = [0.37, 2.92] as const;
    const quiet = Array.from({ length: 4 }, () => cut(named(name), 0, 0.1));
    const pcm = Buffer.concat([...quiet, withPauses(name, 0.1, [sentence, sentence]), ...quiet]);
    const text = await open().finish(pcm);
    expect(text.match(/食品商店/g), text).toHaveLength(2);
  });
});

/** 15 s each. Levels in dB below full scale. */
const NOISES: Readonly<Record<string, (sample: number, random: Weights) => number>> = {
  silence: () => 0,
  'white noise at -60 dB': (_, random) => random.normal(32),
  'white noise at -40 dB': (_, random) => random.normal(328),
  'white noise at -20 dB': (_, random) => random.normal(3277),
  hum: (i) =>
    2000 * Math.sin((2 * Math.PI * 50 * i) / 16_000) + 700 * Math.sin((2 * Math.PI * 150 * i) / 16_000),
  'key strokes': (i, random) => (i % 2900 < 200 ? random.normal(8000) * Math.exp(-(i % 2900) / 40) : 0),
};

describe('there is no text, not even for a moment, in', { timeout: 120_000 }, () => {
  test.each(Object.entries(NOISES))('%s', async (_name, noise) => {
    const random = new Weights(3);
    const pcm = pcmBytes(Int16Array.from({ length: MAX_SAMPLES }, (_, i) => Math.round(noise(i, random))));
    const recording = open();
    // At the beginning, and over all of it.
    expect(await recording.accept(pcm.subarray(0, 64_000))).toBe('');
    expect(await recording.accept(pcm.subarray(64_000))).toBe('');
    expect(await recording.finish(new Uint8Array(0))).toBe('');
  });
});

/** The bundled model as the service runs it. @returns the text of a recording in pieces of this size */
async function loaded(
  options: Pick<OnnxRecognizerOptions, 'hotwords' | 'languageModel'>,
): Promise<(pcm: Uint8Array, pieceBytes: number) => Promise<string>> {
  const recognizer = new OnnxRecognizer({
    providers: ['cpu'],
    threads: 1,
    ...options,
  });
  onTestFinished(() => recognizer.close());
  await recognizer.load({ id: 'bundled', folder: modelFolders().bundled });
  return async (pcm, pieceBytes) => {
    const stream = await recognizer.open();
    for (let start = 0; start + pieceBytes < pcm.length; start += pieceBytes)
      await stream.accept(pcm.subarray(start, start + pieceBytes));
    const text = await stream.finish(pcm.subarray(Math.floor((pcm.length - 1) / pieceBytes) * pieceBytes));
    await stream.close();
    return text;
  };
}

test('the language model corrects an upload and a stream alike', { timeout: 120_000 }, async () => {
  const { pcm } = named('BAC009S0150W0015.wav');
  const without = await loaded({ languageModel: false });
  expect(await without(pcm, pcm.length)).toContain('上海是第一食品商店');
  const corrected = await loaded({});
  expect(await corrected(pcm, pcm.length)).toContain('上海市第一食品商店');
  expect(await corrected(pcm, CHUNK_BYTES)).toBe(await corrected(pcm, pcm.length));
});

test('a listed phrase that sounds like what was heard is in the text of the next recording', {
  timeout: 120_000,
}, async () => {
  const { pcm } = named('BAC009S0150W0453.wav');
  let hotwords: readonly Hotword[] = [];
  const recognize = await loaded({ hotwords: async () => hotwords, languageModel: false });
  const heard = (pieceBytes: number): Promise<string> => recognize(pcm, pieceBytes);
  const before = await heard(pcm.length);
  expect(before).not.toContain('停车费');
  hotwords = [{ phrase: '停车费', score: 2.5 }];
  expect(await heard(pcm.length)).toBe('出库时被收取两块钱停车费。');
  expect(await heard(CHUNK_BYTES)).toBe('出库时被收取两块钱停车费。');
  // The model decides: a phrase of another sound, or one that is not wanted at all, changes nothing.
  for (const other of [
    { phrase: '挺拔非', score: 2.5 },
    { phrase: '停车费', score: -20 },
  ]) {
    hotwords = [other];
    expect(await heard(pcm.length)).toBe(before);
  }
});

test('the licences and the recipe lie beside the model', () => {
  const read = (name: string): string => readFileSync(join(modelFolders().bundled, name), 'utf8');
  expect(read('LICENSE')).toMatch(/MIT License[\s\S]*OpenAI/);
  expect(read('README.md')).toMatch(/OpenCC[\s\S]*Apache License/);
  expect(read('README.md')).toContain('sha256');
  expect(read('convert.py')).toContain('def main');
});
