import { Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  DecoderState,
  WhisperDecoder,
} from '../../../../../../inference/engine/families/whisper/decoder.ts';
import { greedySearch } from '../../../../../../inference/engine/search/autoregressive-greedy.ts';
import { beamSearch } from '../../../../../../inference/engine/search/beam-search.ts';
import { Likelihoods } from '../../../../../../inference/engine/search/token-decoder.ts';
import { writeSmallWhisper } from '../../../../../onnx/whisper.ts';
import { fileFolder } from '../../../../../support/machine/folders.ts';
import { LocalWhisper } from '../../local-whisper.ts';
import { realSpeech, withSilence } from '../../recordings.ts';

/* What the stand-ins prove is worth something only when their graphs make use of all that they are given. */

const TEXT_CONTEXT = 24;
const { signal } = new AbortController();

const workDir = fileFolder();

function zeros(like: Tensor | undefined): Tensor {
  return new Tensor('float32', new Float32Array(like?.size ?? 0), like?.dims ?? []);
}

/** Keys for values, and values for keys. */
function otherPart(name: string): string {
  return name.replace(/_([kv])(?=_|$)/, (_, part) => (part === 'k' ? '_v' : '_k'));
}

describe.each(['stacked', 'layered'] as const)('a Whisper decoder with %s tensors', (layout) => {
  let whisper: LocalWhisper;
  let decoder: WhisperDecoder;
  beforeAll(async () => {
    whisper = await LocalWhisper.load(writeSmallWhisper(workDir, { layout, textContext: TEXT_CONTEXT }));
    const [recording] = realSpeech();
    decoder = await whisper.encode(withSilence(recording?.samples ?? new Int16Array(0), 0), 100);
  });
  afterAll(() => whisper.release());

  async function scores(state: DecoderState, ...rows: number[][]): Promise<number[][]> {
    const found = await decoder.run(state, rows);
    const size = found.scores.length / rows.length;
    return rows.map((_, i) => [...found.scores.subarray(i * size, (i + 1) * size)]);
  }

  /** Two hypotheses that differ in their last token. */
  async function twoHypotheses(): Promise<DecoderState> {
    const { state } = await decoder.run(decoder.start(), [[...whisper.rules().prompt]]);
    return (await decoder.run(decoder.select(state, [0, 0]), [[300], [310]])).state;
  }

  test('hears keys and values of each hypothesis, and the place of a token', async () => {
    const state = await twoHypotheses();
    const [first, second] = await scores(state, [320], [320]);
    expect(first).not.toEqual(second);
    const { caches } = state;
    const names = Object.keys(caches);
    const exchanged = names.map((name) => [name, caches[otherPart(name)] ?? zeros(caches[name])] as const);
    const others: DecoderState[] = [
      ...names.map((name) => ({ ...state, caches: { ...caches, [name]: zeros(caches[name]) } })),
      { ...state, caches: Object.fromEntries(exchanged) },
    ];
    // Layered caches say themselves how many there are.
    if (layout === 'stacked') others.push({ ...state, positions: state.positions - 1 });
    for (const [i, other] of others.entries())
      expect((await scores(other, [320], [320]))[0], `change ${i}`).not.toEqual(first);
  });

  test('goes on with the hypotheses that are selected, in their order', async () => {
    const state = await twoHypotheses();
    const [first, second] = await scores(state, [320], [320]);
    expect(await scores(decoder.select(state, [1, 0]), [320], [320])).toEqual([second, first]);
    expect(await scores(decoder.select(state, [1]), [320])).toEqual([second]);
    expect(await scores(decoder.select(state, [0, 1, 1]), [320], [320], [320])).toEqual([
      first,
      second,
      second,
    ]);
  });

  test('sees of several tokens only those before', async () => {
    const tokens = [...whisper.rules().prompt, 300, 310];
    const atOnce = await decoder.run(decoder.start(), [tokens]);
    let state = decoder.start();
    const oneByOne: number[] = [];
    for (const token of tokens) {
      const found = await decoder.run(state, [[token]]);
      oneByOne.push(...found.scores);
      state = found.state;
    }
    expect(oneByOne).toHaveLength(atOnce.scores.length);
    const differences = oneByOne.map((score, i) => Math.abs(score - (atOnce.scores[i] ?? 0)));
    expect(Math.max(...differences)).toBeLessThan(1e-3);
  });

  test('gives the texts of a beam the likelihood that they have in one run', async () => {
    const rules = whisper.rules();
    const { tokens, isCutOff, meanLogProbability } = await beamSearch(
      decoder,
      rules,
      { width: 5, endings: 5, maxTokens: 1000 },
      signal,
    );
    const said = isCutOff ? tokens : [...tokens, rules.endId];
    const { scores: all } = await decoder.run(decoder.start(), [[...rules.prompt, ...tokens]]);
    const size = decoder.vocabularySize;
    const logs = said.map((id, i) => {
      const start = (rules.prompt.length - 1 + i) * size;
      return new Likelihoods(all.subarray(start, start + size), rules, i === 0).of(id);
    });
    expect(tokens.length).toBeGreaterThan(5);
    expect(meanLogProbability).toBeCloseTo(logs.reduce((sum, log) => sum + log, 0) / said.length, 3);
  });

  test('ends a text where all its places are taken', async () => {
    const rules = whisper.rules();
    const endless = { ...rules, suppressed: rules.suppressed.map((_, id) => Number(id === rules.endId)) };
    const length = TEXT_CONTEXT - rules.prompt.length;
    const greedy = await greedySearch(decoder, endless, [], 1000, signal);
    expect(greedy).toMatchObject({ isCutOff: true, tokens: { length } });
    const beam = await beamSearch(decoder, endless, { width: 5, endings: 5, maxTokens: 1000 }, signal);
    expect(beam).toMatchObject({ isCutOff: true, tokens: { length } });
    const forced = greedy.tokens.slice(0, length - 1);
    expect((await greedySearch(decoder, endless, forced, 1000, signal)).tokens).toEqual(greedy.tokens);
  });
});
