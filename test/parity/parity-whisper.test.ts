import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findModelFiles } from '../../inference/engine/onnx/model-files.ts';
import { modelFolders } from '../../models/store/store.ts';
import { whisperReference } from '../onnx/offline-reference.ts';
import { writeStackedWhisper } from '../onnx/stacked-whisper.ts';
import { tokenLines, type WhisperFiles, writeSmallWhisper } from '../onnx/whisper.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { LocalWhisper } from '../unit/inference/engine/local-whisper.ts';
import { type Recording, realSpeech, withSilence } from '../unit/inference/engine/recordings.ts';

/*
 * sherpa-onnx hears a Whisper without our prompt and rules: here the engine's parts do as it does, and the
 * tokens are compared.
 */

/** Seconds where nothing else runs; a shared machine may take many times that. */
const LONG = { timeout: 120_000 };

const workDir = fileFolder();

interface Heard {
  readonly name: string;
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

/**
 * Recordings by both.
 * @param tailPaddings frames of zeros behind each.
 */
async function hear(
  files: WhisperFiles,
  recordings: readonly Recording[],
  tailPaddings: number,
): Promise<Heard[]> {
  const engine = await LocalWhisper.load(files);
  onTestFinished(() => engine.release());
  // Tokens that are written as their ids: of the model's own, sherpa-onnx drops those that are not whole characters.
  const ids = Array.from({ length: engine.layout.vocabularySize }, (_, id) => Buffer.from(String(id)));
  const tokens = join(mkdtempSync(join(workDir, 'ids-')), 'tokens.txt');
  writeFileSync(tokens, tokenLines(ids));
  const theirFiles = engine.layout.isStacked
    ? files
    : await writeStackedWhisper(join(workDir, 'stacked'), files);
  const reference = whisperReference({ ...theirFiles, tokens }, { tailPaddings });
  const heard: Heard[] = [];
  for (const { name, samples } of recordings) {
    const floats = withSilence(samples, 0);
    const ours = await engine.tokens(floats, tailPaddings);
    heard.push({ name, ours, theirs: reference.recognize(floats).tokens.map(Number) });
  }
  return heard;
}

/** The beginnings of recordings: most of the time goes into the features of sherpa-onnx. */
function beginnings(seconds: number): Recording[] {
  return realSpeech().map(({ name, samples }) => ({ name, samples: samples.subarray(0, 16_000 * seconds) }));
}

describe.each([
  { melBins: 80, layout: 'stacked' },
  { melBins: 128, layout: 'layered' },
] as const)('a small Whisper of $melBins bands, $layout tensors', (options) => {
  test('gives the tokens of sherpa-onnx for 12 recordings', LONG, async () => {
    const heard = await hear(writeSmallWhisper(join(workDir, options.layout), options), beginnings(2), 300);
    expect(heard).toHaveLength(12);
    const said = new Set<number>();
    for (const { name, ours, theirs } of heard) {
      expect(ours, name).toEqual(theirs);
      for (const id of theirs) said.add(id);
    }
    // A model that says next to nothing would agree with anything.
    expect(said.size).toBeGreaterThan(10);
  });
});

/*
 * Not all: the features of both engines differ in their last digits, which changes a token now and then where activations
 * are quantized. Measured without VNNI: features of our own that differ by a millionth give other tokens for 2 of the 12
 * recordings. Of the 12, whole and with 1000 frames behind them, 8 have the same tokens in both engines; the 4 beginnings
 * here all have. On another processor two of them may differ from the first token on.
 */
test('the bundled Whisper gives mostly the tokens of sherpa-onnx', LONG, async () => {
  const files = await findModelFiles(modelFolders().bundled);
  if (files.kind !== 'encoder-decoder') throw new Error(`the bundled model is a ${files.kind}`);
  const heard = await hear(files, beginnings(2).slice(0, 4), 300);
  const theirs = heard.flatMap((recording) => recording.theirs);
  const equal = heard.flatMap((recording) => recording.ours.filter((id, i) => id === recording.theirs[i]));
  expect(theirs.length).toBeGreaterThan(20);
  expect(equal.length / theirs.length).toBeGreaterThan(0.5);
});
