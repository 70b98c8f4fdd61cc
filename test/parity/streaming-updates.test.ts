import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { trailingSilenceSamples } from '../../inference/engine/recording/trailing-silence.ts';
import { CHINESE_SYMBOLS, writeSmallModel } from '../onnx/model-folder.ts';
import { writeSmallStreamingParaformer } from '../onnx/paraformer-folder.ts';
import { ReferenceEngine, type ReferenceModel } from '../onnx/reference-engine.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { LocalEngine } from '../unit/inference/engine/local-engine.ts';
import {
  boundaryRecordings,
  pcmBytes,
  realSpeech,
  recordings,
  withSilence,
} from '../unit/inference/engine/recordings.ts';

/** Seconds where nothing else runs; a shared machine may take many times that. */
const LONG = { timeout: 120_000 };
/** Here a Paraformer's frames 1, 62 and 122 end, with the last two of which its steps run; at 6520, the 40th of a Zipformer. */
const BOUNDARIES = [400, 6520, 10_160, 19_760] as const;

const workDir = fileFolder();

const zipformer = {
  ...({ family: 'zipformer-transducer', chunkFrames: 32, features: 'kaldi', int8: false } as const),
  ...{ symbols: CHINESE_SYMBOLS, seed: 7 },
};

/** With how many tokens more at the end: sherpa-onnx does not say what a Paraformer has begun to hear. */
const FAMILIES: readonly [string, (folder: string) => ReferenceModel, mostTokensMore: number][] = [
  ['a first Zipformer', (folder) => writeSmallModel(folder, zipformer), 0],
  ['a streaming Paraformer', writeSmallStreamingParaformer, 1],
];

describe.each(FAMILIES)('%s', (family, write, mostTokensMore) => {
  let engine: LocalEngine;
  let reference: ReferenceEngine;
  beforeAll(async () => {
    const folder = join(workDir, family);
    const files = write(folder);
    engine = await LocalEngine.load(folder);
    reference = new ReferenceEngine(folder, files);
  });
  afterAll(() => engine.release());

  /** Checks the text after each piece, and at the end. @returns the final text, and how many tokens sherpa-onnx does not have. */
  async function check(name: string, pieces: readonly Int16Array[]): Promise<{ text: string; more: number }> {
    const stream = engine.open();
    const partials: string[] = [];
    for (const piece of pieces) partials.push(await stream.accept(pcmBytes(piece)));
    const floats = pieces.map((piece) => withSilence(piece, 0));
    expect(partials, name).toEqual(reference.partials(floats));
    const text = await stream.finish(new Uint8Array(0));
    const samples = Int16Array.from(pieces.flatMap((piece) => [...piece]));
    const silence = trailingSilenceSamples(samples.length, engine.model.layout);
    const theirs = reference.recognize(withSilence(samples, silence));
    const tokens = engine.tokens(stream);
    const more = tokens.length - theirs.tokens.length;
    expect(tokens.slice(0, theirs.tokens.length), name).toEqual(theirs.tokens);
    expect(more, name).toBeLessThanOrEqual(mostTokensMore);
    if (more === 0) expect(text, name).toBe(theirs.text);
    return { text, more };
  }

  test('says what sherpa-onnx says after each half second, and at the end', LONG, async () => {
    const said = new Set<string>();
    let more = 0;
    for (const recording of realSpeech().slice(0, 6)) {
      const final = await check(recording.name, halfSeconds(recording.samples));
      more += final.more;
      for (const character of final.text) said.add(character);
    }
    // A model that says next to nothing would agree with anything.
    expect(said.size).toBeGreaterThan(10);
    expect(more > 0).toBe(mostTokensMore > 0);
  });

  test(
    'says what sherpa-onnx says of recordings of any length and kind, without an error',
    LONG,
    async () => {
      const odd = [...recordings().slice(10), ...boundaryRecordings(BOUNDARIES)];
      expect(odd.length).toBeGreaterThanOrEqual(25);
      for (const { name, samples } of odd) await check(name, [samples]);
    },
  );

  test('says the same at the end however the samples are cut', LONG, async () => {
    for (const { name, samples } of realSpeech().slice(0, 3)) {
      const whole = await engine.recognize(pcmBytes(samples));
      // 20 ms, 500 ms, and a number of samples that fits no frame.
      for (const pieceBytes of [640, 16_000, 2 * 1237])
        expect(await engine.recognize(pcmBytes(samples), pieceBytes), name).toEqual(whole);
    }
  });
});

/** Texts by a program of its own, in numpy, which follows FunASR at the end. */
test.each([
  ['BAC009S0150W0047.wav', '有 hehe 你为你你你三三你你', ''],
  ['BAC009S0150W0095.wav', '有 hehehe 你你你个 er 为我三我为我我有有三', '九'],
  ['BAC009S0150W0191.wav', '有八 er 你我你你你三三三你 er 你你 er 三你 er he 个你 er 个', '八'],
])("a streaming Paraformer's text of %s ends in the token that has begun", LONG, async (name, text, last) => {
  const folder = join(workDir, `flush-${name}`);
  writeSmallStreamingParaformer(folder);
  const engine = await LocalEngine.load(folder);
  const samples = realSpeech().find((recording) => recording.name === name)?.samples ?? new Int16Array(0);
  expect((await engine.recognize(pcmBytes(samples))).text).toBe(`${text}${last}`);
  await engine.release();
});

function halfSeconds(samples: Int16Array): Int16Array[] {
  const count = Math.ceil(samples.length / 8000);
  return Array.from({ length: count }, (_, i) => samples.subarray(8000 * i, 8000 * (i + 1)));
}
