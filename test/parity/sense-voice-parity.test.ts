import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseTokens } from '../../inference/engine/text/tokens.ts';
import { countErrors, errorRatePercent } from '../eval/error-rate.ts';
import { DEFAULT_SET, readSet } from '../eval/sets.ts';
import { fileFolder } from '../support/machine/folders.ts';
import { pcmBytes } from '../unit/inference/engine/recordings.ts';
import { CHINESE, loadSenseVoices, SENSE_VOICE_TOKENS } from '../unit/inference/engine/sense-voice-pair.ts';

const workDir = fileFolder();

const clips = await readSet(DEFAULT_SET);
const speech = clips[3]?.pcm ?? Buffer.alloc(0);

describe.each([true, false])('SenseVoice with inverse text normalisation %s', (itn) => {
  test('gives the text of sherpa-onnx for recordings of people', async () => {
    const { ours, theirs } = await loadSenseVoices('model.onnx', { language: 'zh', itn });
    const texts = new Set<string>();
    for (const { name, pcm } of clips) {
      const text = await ours(pcm);
      expect(text, name).toBe(theirs(pcm));
      texts.add(text);
    }
    // A model that says the same of all of them would agree with anything.
    expect(texts.size).toBe(12);
  });

  test('gives it with int8 weights, but for the roundings of the features', async () => {
    const { ours, theirs } = await loadSenseVoices('model.int8.onnx', { language: 'zh', itn });
    let theirText = '';
    let ourText = '';
    for (const { pcm } of clips) {
      theirText += theirs(pcm);
      ourText += await ours(pcm);
    }
    expect(errorRatePercent(countErrors(theirText, ourText))).toBeLessThanOrEqual(1);
  });

  test('keeps the first token of the text, which sherpa-onnx drops in place of a tag that is not said', async () => {
    const { ours, theirs } = await loadSenseVoices('model.onnx', { language: 'auto', itn });
    const table = parseTokens(readFileSync(SENSE_VOICE_TOKENS, 'utf8'), SENSE_VOICE_TOKENS);
    const said = new Set([...table.values()].map((symbol) => symbol.replace(/^▁/, '')).filter(Boolean));
    for (const { name, pcm } of clips) {
      const text = await ours(pcm);
      const rest = theirs(pcm);
      expect(text.endsWith(rest), name).toBe(true);
      expect(said, name).toContain(text.slice(0, -rest.length).trim());
    }
  });

  test.each([0, 100, 399, 400, 559, 560, 720, 1200, 1359, 1360, 1361, 3200, 16_000])(
    'gives the text of sherpa-onnx for %i samples',
    async (samples) => {
      const { ours, theirs } = await loadSenseVoices('model.onnx', { language: 'zh', itn });
      const pcm = speech.subarray(16_000, 16_000 + 2 * samples);
      expect(await ours(pcm)).toBe(theirs(pcm));
    },
  );

  test.each([
    ['silence', () => 0],
    ['a square wave at full scale', (i: number) => (i % 80 < 40 ? 32_767 : -32_768)],
  ])('gives the text of sherpa-onnx for a second of %s', async (_what, sample) => {
    const { ours, theirs } = await loadSenseVoices('model.onnx', { language: 'zh', itn });
    const pcm = pcmBytes(Int16Array.from({ length: 16_000 }, (_, i) => sample(i)));
    expect(await ours(pcm)).toBe(theirs(pcm));
  });
});

/** Said often. */
const WORDS = new Set(['等', '再', '是', '海', '科', '非']);
const TAG = /^<\|.+\|>$/;

test.each([
  ['words with ▁ in front', (symbol: string) => (WORDS.has(symbol) ? `▁${symbol}` : symbol)],
  ['words with ▁ twice in front', (symbol: string) => (WORDS.has(symbol) ? `▁▁${symbol}` : symbol)],
  ['words with ▁ behind', (symbol: string) => (WORDS.has(symbol) ? `${symbol}▁` : symbol)],
  ['words that are ▁ alone', (symbol: string) => (WORDS.has(symbol) ? '▁' : symbol)],
  ['words that are tags', (symbol: string) => (WORDS.has(symbol) ? '<|BGM|>' : symbol)],
  [
    'words and tags that are English',
    (symbol: string) => (WORDS.has(symbol) || TAG.test(symbol) ? '▁word' : symbol),
  ],
])('%s become the text of sherpa-onnx, without tags', async (_what, change) => {
  const lines = readFileSync(SENSE_VOICE_TOKENS, 'utf8').split('\n');
  const tokens = join(workDir, 'tokens.txt');
  writeFileSync(tokens, lines.map((line) => line.replace(/^\S+/, change)).join('\n'));
  const { ours, theirs } = await loadSenseVoices('model.onnx', CHINESE, tokens);
  const plain = await loadSenseVoices('model.onnx', CHINESE);
  let differing = 0;
  for (const { name, pcm } of clips) {
    const text = await ours(pcm);
    expect(text, name).toBe(theirs(pcm));
    if (text !== (await plain.ours(pcm))) differing++;
  }
  expect(differing).toBeGreaterThan(6);
});
