import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { OnnxModel, type SessionOptions } from '../../inference/engine/onnx/onnx-session.ts';
import { trailingSilenceSamples } from '../../inference/engine/recording/trailing-silence.ts';
import {
  BYTE_BPE_SYMBOLS,
  CHINESE_SYMBOLS,
  HIGH_BYTE_SYMBOLS,
  type SmallModel,
  writeSmallModel,
} from '../onnx/model-folder.ts';
import { ReferenceEngine } from '../onnx/reference-engine.ts';
import { fixtures, SMALL_CTC } from '../support/audio/fixtures.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { LocalEngine } from '../unit/inference/engine/local-engine.ts';
import { pcmBytes, recordings, withSilence } from '../unit/inference/engine/recordings.ts';

const kaldi = { features: 'kaldi', int8: false, symbols: CHINESE_SYMBOLS, seed: 5 } as const;

/**
 * Every family, with every step length of the public models somewhere, full precision and quantized, both
 * features, every kind of token.
 */
const MODELS: readonly SmallModel[] = [
  { ...kaldi, family: 'zipformer2-ctc', chunkFrames: 32 },
  { ...kaldi, family: 'zipformer2-ctc', chunkFrames: 16, int8: true },
  { ...kaldi, family: 'zipformer2-ctc', chunkFrames: 32, features: 'whisper', symbols: BYTE_BPE_SYMBOLS },
  { ...kaldi, family: 'zipformer2-transducer', chunkFrames: 48, symbols: BYTE_BPE_SYMBOLS },
  { ...kaldi, family: 'zipformer2-transducer', chunkFrames: 96, int8: true },
  {
    ...kaldi,
    family: 'zipformer2-transducer',
    chunkFrames: 192,
    features: 'whisper',
    symbols: HIGH_BYTE_SYMBOLS,
  },
  { ...kaldi, family: 'zipformer-transducer', chunkFrames: 32, seed: 7 },
];

/** Seconds where nothing else runs; a shared machine may take many times that. */
const LONG = { timeout: 120_000 };

/** Not part of our text; with byte-level BPE, sherpa-onnx puts a space behind the `>` in front of a word. */
const SPECIAL_SYMBOLS = /<[^<>\s]+> ?/g;

const workDir = fileFolder();

/** Cuts the small graphs as often as the largest ones are cut. */
const SMALL_PARTS: Partial<SessionOptions> = { partValues: 500 };

/** How many graphs run for one step. */
async function graphCount({ model }: LocalEngine): Promise<number> {
  const runs = vi.spyOn(OnnxModel.prototype, 'run');
  try {
    const step = new Float32Array(80 * model.layout.windowFrames);
    await model.open().run([step], new AbortController().signal);
    return new Set(runs.mock.contexts).size;
  } finally {
    runs.mockRestore();
  }
}

describe.each(MODELS)(
  'small $family, $features features, steps of $chunkFrames frames, int8 $int8',
  (small) => {
    const folder = join(workDir, `${small.family}-${small.chunkFrames}-${small.features}`);
    let engines: LocalEngine[];
    let reference: ReferenceEngine;
    beforeAll(async () => {
      const files = writeSmallModel(folder, small);
      engines = [await LocalEngine.load(folder), await LocalEngine.load(folder, SMALL_PARTS)];
      const counts: number[] = [];
      for (const engine of engines) counts.push(await graphCount(engine));
      expect(counts[1]).toBeGreaterThan(counts[0] ?? 0);
      reference = new ReferenceEngine(folder, files);
    });
    afterAll(() => Promise.all(engines.map((engine) => engine.release())));

    test(
      'gives the tokens and the text of sherpa-onnx for 30 recordings; every third also in parts and in pieces',
      LONG,
      async () => {
        const all = recordings();
        expect(all).toHaveLength(30);
        const said = new Set<string>();
        for (const [i, { name, samples }] of all.entries()) {
          const silences = engines.map(({ model }) => trailingSilenceSamples(samples.length, model.layout));
          expect(new Set(silences).size).toBe(1);
          const theirs = reference.recognize(withSilence(samples, silences[0] ?? 0));
          for (const engine of i % 3 === 0 ? engines : engines.slice(0, 1)) {
            const { tokens, text } = await engine.recognize(pcmBytes(samples));
            expect(tokens, name).toEqual(theirs.tokens);
            // Its text has bytes as `<0xE5>`, also those of whole characters; ours has the characters, as the
            // model contract wants.
            if (small.symbols !== HIGH_BYTE_SYMBOLS)
              expect(text, name).toBe(theirs.text.replace(SPECIAL_SYMBOLS, ''));
            if (i % 3 !== 0) continue;
            // 100 ms by the one, 500 ms by the other; both below.
            const pieceBytes = engine === engines[0] ? 3200 : 16_000;
            expect(await engine.recognize(pcmBytes(samples), pieceBytes), name).toEqual({ tokens, text });
          }
          for (const token of theirs.tokens) said.add(token);
        }
        // A model that says next to nothing would agree with anything.
        expect(said.size).toBeGreaterThan(10);
      },
    );

    test('gives the same tokens however the samples are cut', LONG, async () => {
      const samples = fixtures()[3]?.samples.subarray(0, 30_001) ?? new Int16Array(0);
      const pcm = pcmBytes(samples);
      for (const engine of engines) {
        const whole = await engine.recognize(pcm);
        expect(whole.tokens.length).toBeGreaterThan(0);
        // 1 sample is 2 bytes; 100 ms, 500 ms, one piece.
        for (const pieceBytes of [2, 3200, 16_000])
          expect(await engine.recognize(pcm, pieceBytes)).toEqual(whole);
      }
    });
  },
);

test('a transducer whose graphs leave open how much they give runs as in sherpa-onnx', LONG, async () => {
  const folder = join(workDir, 'open-sizes');
  const small = { ...kaldi, family: 'zipformer2-transducer', chunkFrames: 32, openSizes: true } as const;
  const files = writeSmallModel(folder, small);
  const engine = await LocalEngine.load(folder);
  onTestFinished(() => engine.release());
  const reference = new ReferenceEngine(folder, files);
  const closed = join(workDir, 'closed-sizes');
  writeSmallModel(closed, { ...small, openSizes: false });
  const same = await LocalEngine.load(closed);
  onTestFinished(() => same.release());
  for (const { name, samples } of fixtures()) {
    const { tokens } = await engine.recognize(pcmBytes(samples));
    const silence = trailingSilenceSamples(samples.length, engine.model.layout);
    expect(tokens.length, name).toBeGreaterThan(0);
    expect(tokens, name).toEqual(reference.recognize(withSilence(samples, silence)).tokens);
    expect(tokens, name).toEqual((await same.recognize(pcmBytes(samples))).tokens);
  }
});

test('a transducer is done with a closed recording between two searches, too', async () => {
  const folder = join(workDir, 'closed');
  writeSmallModel(folder, { ...kaldi, family: 'zipformer2-transducer', chunkFrames: 32 });
  const { model, release } = await LocalEngine.load(folder);
  onTestFinished(release);
  const steps = [1, 2, 3].map((n) => new Float32Array(80 * model.layout.windowFrames).fill(-n));
  const { signal } = new AbortController();
  let looks = 0;
  // The encoder looks before each of its three runs.
  signal.throwIfAborted = () => {
    if (++looks > steps.length + 1) throw new Error('closed');
  };
  await expect(model.open().run(steps, signal)).rejects.toThrow('closed');
  expect(looks).toBe(steps.length + 2);
});

describe('the small CTC model', () => {
  let engine: LocalEngine;
  let reference: ReferenceEngine;
  beforeAll(async () => {
    engine = await LocalEngine.load(SMALL_CTC);
    reference = new ReferenceEngine(SMALL_CTC, { family: 'zipformer2-ctc', model: 'model.onnx' });
  });
  afterAll(() => engine.release());

  test(
    'gives the tokens and the text of sherpa-onnx for 30 recordings, and the text of every fixture',
    LONG,
    async () => {
      const texts = new Map(fixtures().map(({ name, text }) => [name, text]));
      for (const { name, samples } of recordings()) {
        const silence = trailingSilenceSamples(samples.length, engine.model.layout);
        const heard = await engine.recognize(pcmBytes(samples));
        expect(heard, name).toEqual(reference.recognize(withSilence(samples, silence)));
        expect(heard.text, name).toBe(texts.get(name) ?? heard.text);
        texts.delete(name);
      }
      expect(texts.size).toBe(0);
    },
  );
});
