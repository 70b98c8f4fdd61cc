import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadModel } from '../../inference/engine/families/load-model.ts';
import type { EngineModel } from '../../inference/engine/recording/engine-model.ts';
import { whisperReference } from '../onnx/offline-reference.ts';
import { writeStackedWhisper } from '../onnx/stacked-whisper.ts';
import { type SmallWhisper, writeSmallWhisper } from '../onnx/whisper.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { loadError } from '../unit/inference/engine/broken-models.ts';
import { pcmBytes, realSpeech, withSilence } from '../unit/inference/engine/recordings.ts';

/*
 * The public archives sherpa-onnx-whisper-tiny, -base and -small cannot be had here. These models have their names and the
 * format that sherpa-onnx's export script gives them, and sherpa-onnx loads them.
 */

/** Seconds where nothing else runs; a shared machine may take many times that. */
const LONG = { timeout: 120_000 };
/** Of a stream: 3 s. */
const PIECE_BYTES = 96_000;

const workDir = fileFolder();

const speech = Int16Array.from(realSpeech().flatMap(({ samples }) => [...samples]));

interface StandIn {
  readonly folder: string;
  /** Of a second of speech, by sherpa-onnx. */
  readonly theirTokens: readonly string[];
}

async function standIn(options: SmallWhisper): Promise<StandIn> {
  const folder = mkdtempSync(join(workDir, 'model-'));
  const files = writeSmallWhisper(folder, options);
  const theirs =
    options.layout === 'layered' ? await writeStackedWhisper(join(folder, 'stacked'), files) : files;
  const reference = whisperReference(theirs, { tailPaddings: 100 });
  const { tokens } = reference.recognize(withSilence(speech.subarray(0, 16_000), 0));
  return { folder, theirTokens: tokens };
}

async function load(folder: string): Promise<EngineModel> {
  const { model, release } = await loadModel(folder, { providers: ['cpu'], threads: 1, log: () => {} });
  onTestFinished(release);
  return model;
}

/** The partial texts of a stream, its final one and an upload's. */
async function texts(model: EngineModel, samples: Int16Array): Promise<string[]> {
  const { signal } = new AbortController();
  const [stream, upload, pcm] = [model.open(signal), model.open(signal), pcmBytes(samples)];
  const found: string[] = [];
  for (let start = 0; start < pcm.length; start += PIECE_BYTES)
    found.push(await stream.accept(pcm.subarray(start, start + PIECE_BYTES)));
  found.push(await stream.finish(new Uint8Array(0)), await upload.finish(pcm));
  return found;
}

describe.each([
  { melBins: 80, int8: false, longestSamples: 240_000 },
  { melBins: 128, int8: false, longestSamples: 240_000 },
  { melBins: 80, int8: true, longestSamples: 160_000 },
] as const)(
  'a Whisper of $melBins bands, int8 $int8, as public archives have it',
  ({ longestSamples, ...options }) => {
    test('gives the same texts in the layout of the bundled one', LONG, async () => {
      const stacked = await standIn({ ...options, layout: 'stacked' });
      const layered = await standIn({ ...options, layout: 'layered' });
      const [model, other] = [await load(stacked.folder), await load(layered.folder)];
      const said = new Set<string>();
      for (const sampleCount of [1, 4800, 80_000, longestSamples]) {
        const found = await texts(model, speech.subarray(0, sampleCount));
        expect(await texts(other, speech.subarray(0, sampleCount)), `${sampleCount} samples`).toEqual(found);
        expect(found.at(-2), `${sampleCount} samples`).toBe(found.at(-1));
        for (const character of found.join('')) said.add(character);
      }
      // A model that says next to nothing would agree with anything.
      expect(said.size).toBeGreaterThan(15);
      expect(stacked.theirTokens.length).toBeGreaterThan(0);
      expect(stacked.theirTokens).toEqual(layered.theirTokens);
    });
  },
);

test('an English-only Whisper, which sherpa-onnx loads, is refused in one sentence', LONG, async () => {
  const { folder, theirTokens } = await standIn({ name: 'tiny.en', isMultilingual: false });
  expect(theirTokens.length).toBeGreaterThan(0);
  expect(await loadError(folder)).toBe(
    'tiny.en-encoder.onnx: this Whisper understands English only (metadata is_multilingual is 0), expected a multilingual one, such as whisper-base instead of whisper-base.en',
  );
});

test('of an archive with float32 and int8 files, a processor gets the int8 ones', LONG, async () => {
  const { folder } = await standIn({ int8: true });
  const samples = speech.subarray(0, 48_000);
  const int8 = await texts(await load(folder), samples);
  writeSmallWhisper(folder, { int8: false });
  expect(await texts(await load(folder), samples)).toEqual(int8);
  expect(await texts(await load((await standIn({ int8: false })).folder), samples)).not.toEqual(int8);
});
