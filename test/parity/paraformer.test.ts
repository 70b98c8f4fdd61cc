import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadModel } from '../../inference/engine/families/load-model.ts';
import { paraformerReference } from '../onnx/offline-reference.ts';
import { PARAFORMER_SYMBOLS, type SmallParaformer, writeSmallParaformer } from '../onnx/paraformer-folder.ts';
import { fileFolder } from '../support/machine/folders.ts';
import {
  boundaryRecordings,
  pcmBytes,
  type Recording,
  realSpeech,
  recordings,
  withSilence,
} from '../unit/inference/engine/recordings.ts';

/** Seconds where nothing else runs; a shared machine may take many times that. */
const LONG = { timeout: 120_000 };
/** Here frames 1, 2, 7 and 8 end; rows have 7 frames and begin every 6. */
const BOUNDARIES = [400, 560, 1360, 1520] as const;
const FIRST_FRAME_SAMPLES = 400;

const workDir = fileFolder();

interface Loaded {
  /** sherpa-onnx's. It needs a symbol `</s>`. */
  theirs(samples: Int16Array): string;
  /** The texts of its updates, then the final one. */
  texts(pieces: readonly Int16Array[]): Promise<string[]>;
}

async function load(name: string, small: SmallParaformer = {}): Promise<Loaded> {
  const folder = join(workDir, name);
  const file = writeSmallParaformer(folder, small);
  const { model, info, release } = await loadModel(folder, { providers: ['cpu'], threads: 1, log: () => {} });
  onTestFinished(release);
  expect(info).toMatchObject({ family: 'paraformer', features: 'funasr', provider: 'cpu' });
  let reference: ReturnType<typeof paraformerReference> | undefined;
  return {
    theirs: (samples) => {
      reference ??= paraformerReference(join(folder, file), join(folder, 'tokens.txt'));
      return reference.recognize(withSilence(samples, 0)).text;
    },
    texts: async (pieces) => {
      const recording = model.open(new AbortController().signal);
      const texts: string[] = [];
      for (const piece of pieces) texts.push(await recording.accept(pcmBytes(piece)));
      return [...texts, await recording.finish(new Uint8Array(0))];
    },
  };
}

test(
  "a Paraformer's updates and final text are those of sherpa-onnx for the audio so far",
  LONG,
  async () => {
    const { theirs, texts } = await load('speech');
    const said = new Set<string>();
    for (const { name, samples } of realSpeech()) {
      const [start, rest] = [samples.subarray(0, 20_001), samples.subarray(20_001)];
      const ours = await texts([start, rest]);
      expect(ours, name).toEqual([start, samples, samples].map(theirs));
      for (const character of ours.join('')) said.add(character);
    }
    // A model that says next to nothing would agree with anything.
    expect(said.size).toBeGreaterThan(15);
  },
);

/** sherpa-onnx says '' of these, too, and writes lines about it. */
function saysNothing({ name, samples }: Recording): boolean {
  return samples.length < FIRST_FRAME_SAMPLES || /^(silence|faint noise)/.test(name);
}

describe.each([false, true])('a Paraformer, int8 %s', (int8) => {
  test('takes recordings of any length and kind, and says nothing where no token is', LONG, async () => {
    const { theirs, texts } = await load(`odd-${int8}`, { int8 });
    const odd = [...recordings().slice(10), ...boundaryRecordings(BOUNDARIES)];
    expect(odd.length).toBeGreaterThanOrEqual(25);
    for (const recording of odd) {
      const ours = await texts([recording.samples]);
      // int8 rounds the smallest difference of the features up.
      if (int8 && !saysNothing(recording)) continue;
      const text = saysNothing(recording) ? '' : theirs(recording.samples);
      expect(ours, recording.name).toEqual([text, text]);
    }
  });
});

test('a Paraformer says the same at the end however the samples are cut', LONG, async () => {
  const { texts } = await load('cut');
  const samples = realSpeech()[1]?.samples.subarray(0, 30_001) ?? new Int16Array(0);
  const [, whole] = await texts([samples]);
  // 20 ms, 500 ms.
  for (const size of [320, 8000]) {
    const count = Math.ceil(samples.length / size);
    const pieces = Array.from({ length: count }, (_, i) => samples.subarray(size * i, size * (i + 1)));
    expect((await texts(pieces)).at(-1)).toBe(whole);
  }
});

test("`</s>` ends a Paraformer's text, wherever it is in the table", LONG, async () => {
  const { texts } = await load('ended');
  const unended = await load('unended', {
    symbols: PARAFORMER_SYMBOLS.map((symbol) => (symbol === '</s>' ? '完' : symbol)),
  });
  let endedEarly = 0;
  for (const { name, samples } of realSpeech()) {
    const [text] = await texts([samples]);
    const [whole = ''] = await unended.texts([samples]);
    expect(text, name).toBe(whole.split(/ ?完/)[0]);
    if (text !== whole) endedEarly++;
  }
  expect(endedEarly).toBeGreaterThan(2);
});
