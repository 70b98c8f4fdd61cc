import { describe, expect, test } from 'vitest';
import { greedySearch } from '../../../../../inference/engine/search/autoregressive-greedy.ts';
import { type BeamLimits, beamSearch } from '../../../../../inference/engine/search/beam-search.ts';
import { forcedRows } from '../../../../../inference/engine/search/forced-decoding.ts';
import { lengthWithoutLoop } from '../../../../../inference/engine/search/repetition.ts';
import type { SearchRules } from '../../../../../inference/engine/search/token-decoder.ts';
import { ScriptedDecoder } from './scripted-decoder.ts';

const END = 9;
const PROMPT = [7, 8];
const RULES: SearchRules = {
  prompt: PROMPT,
  endId: END,
  suppressed: Uint8Array.from({ length: 10 }, (_, id) => (id === 6 || id === 7 || id === 8 ? 1 : 0)),
  suppressedFirst: Uint8Array.from({ length: 10 }, (_, id) => ([0, 6, 7, 8, END].includes(id) ? 1 : 0)),
  doubtfulFirst: -2,
};
const { signal } = new AbortController();

const beams = (width: number, maxTokens: number, endings = width): BeamLimits => ({
  width,
  endings,
  maxTokens,
});

/** Scores by the text so far, `''` for none, its ids joined with commas; where it names nothing, the end. */
function decoder(script: Readonly<Record<string, Readonly<Record<number, number>>>>, maxTokens?: number) {
  return new ScriptedDecoder(
    10,
    (tokens) => script[tokens.slice(PROMPT.length).join(',')] ?? { [END]: 20 },
    maxTokens,
  );
}

describe('the greedy search', () => {
  test('takes the most likely token at each place until the end, and says how likely all of it was', async () => {
    const model = decoder({ '': { 3: 20 }, '3': { 4: 20, 5: 20 } });
    const found = await greedySearch(model, RULES, [], 10, signal);
    expect(found).toMatchObject({ tokens: [3, 4], isCutOff: false });
    expect(found.firstLogProbability).toBeCloseTo(0, 6);
    // Two equals share what there is: ln ½ of three places.
    expect(found.meanLogProbability).toBeCloseTo(Math.log(0.5) / 3, 6);
    expect(model.runs).toEqual([[PROMPT], [[3]], [[4]]]);
  });

  test('goes on behind what it is given, which it runs with the prompt', async () => {
    const model = decoder({ '': { 5: 20 }, '3,4': { 1: 20 } });
    const found = await greedySearch(model, RULES, [3, 4], 10, signal);
    expect(found.tokens).toEqual([3, 4, 1]);
    expect(model.runs[0]).toEqual([[...PROMPT, 3, 4]]);
    // From behind the prompt, whatever stands behind it: there 5 was all but certain.
    expect(found.firstLogProbability).toBeCloseTo(0, 6);
  });

  test.each([
    ['a suppressed token', { '': { 6: 90, 3: 20 } }, [3]],
    ['a command to the model', { '': { 8: 90, 3: 20 } }, [3]],
    ['the end as the first token', { '': { [END]: 90, 3: 20 } }, [3]],
    ['a blank as the first token', { '': { 0: 90, 3: 20 } }, [3]],
    ['no blank behind it', { '': { 3: 20 }, '3': { 0: 20 } }, [3, 0]],
  ])('never says %s', async (_what, script, tokens) => {
    expect((await greedySearch(decoder(script), RULES, [], 10, signal)).tokens).toEqual(tokens);
    expect((await beamSearch(decoder(script), RULES, beams(3, 10), signal)).tokens).toEqual(tokens);
  });

  test('looks at its signal between two runs', async () => {
    const abort = new AbortController();
    const model = new ScriptedDecoder(10, () => {
      abort.abort(new Error('closed'));
      return { 3: 20 };
    });
    for (const search of [
      greedySearch(model, RULES, [], 10, abort.signal),
      beamSearch(model, RULES, beams(2, 10), abort.signal),
    ])
      await expect(search).rejects.toThrow('closed');
    expect(model.runs).toHaveLength(2);
  });

  test('scores that are no numbers are an error, not a text', async () => {
    const model = decoder({ '': { 3: Number.NaN } });
    await expect(greedySearch(model, RULES, [], 10, signal)).rejects.toThrow(
      'the model gave scores that are no numbers',
    );
  });
});

describe('the beam search', () => {
  test('finds the text that is likelier as a whole than the one that begins better', async () => {
    const script = {
      '': { 1: 10, 2: 9.5 },
      '1': { 3: 10, 4: 10, 5: 10 },
      '1,3': { [END]: 10.1, 4: 10, 5: 10 },
      '2': { 3: 20 },
    };
    expect((await greedySearch(decoder(script), RULES, [], 10, signal)).tokens).toEqual([1, 3]);
    expect((await beamSearch(decoder(script), RULES, beams(5, 10), signal)).tokens).toEqual([2, 3]);
  });

  test('keeps the state of each hypothesis with it', async () => {
    // The likelier one changes place with the other at the second token.
    const script = {
      '': { 1: 10, 2: 9.9 },
      '1': { 3: 10, 4: 10 },
      '2': { 5: 30 },
    };
    const found = await beamSearch(decoder(script), RULES, beams(3, 10), signal);
    expect(found).toMatchObject({ tokens: [2, 5], isCutOff: false });
  });

  test('a width of one is the greedy search', async () => {
    const script = { '': { 1: 10, 2: 9 }, '1': { 3: 10, 4: 9 } };
    const greedy = await greedySearch(decoder(script), RULES, [], 10, signal);
    const beam = await beamSearch(decoder(script), RULES, beams(1, 10), signal);
    expect(beam.tokens).toEqual(greedy.tokens);
    expect(beam.meanLogProbability).toBeCloseTo(greedy.meanLogProbability, 6);
    expect(beam.firstLogProbability).toBeCloseTo(greedy.firstLogProbability, 6);
  });
});

describe('where there was time for more, the beam search', () => {
  /** Ends after one, two and four words; each is less likely than the one before. */
  const model = () =>
    decoder({
      '': { 3: 20 },
      '3': { [END]: 20, 4: 17 },
      '3,4': { [END]: 20, 5: 17 },
      '3,4,5': { 5: 20 },
      '3,4,5,5': { [END]: 20, 5: 17 },
    });
  const isLong = ({ tokens }: { tokens: readonly number[] }): boolean => tokens.length >= 4;

  test('goes on to more endings, and takes the likeliest that fits', async () => {
    const found = await beamSearch(model(), RULES, beams(2, 10, 20), signal, isLong);
    expect(found).toMatchObject({ tokens: [3, 4, 5, 5], isCutOff: false });
  });

  test('takes the likeliest of all if none does', async () => {
    expect((await beamSearch(model(), RULES, beams(2, 10, 2), signal, isLong)).tokens).toEqual([3]);
  });
});

test('texts are as likely in one pass each as the search found them', async () => {
  const model = decoder({ '': { 3: 20, 4: 19 }, '3': { 4: 20, 5: 20 }, '4': { 5: 3 } });
  const found = await beamSearch(model, RULES, beams(5, 10), signal);
  const searched = model.runs.length;
  const sumOf = async (tokens: readonly number[]): Promise<number> => {
    const rows = await forcedRows(model, RULES, tokens);
    expect(rows).toHaveLength(tokens.length + 1);
    return [...tokens, RULES.endId].reduce((sum, id, i) => sum + (rows[i]?.of(id) ?? 0), 0);
  };
  const likely = await sumOf(found.tokens);
  const other = await sumOf([4, 5]);
  const suppressed = await sumOf([3, 6]);
  expect(likely).toBeCloseTo(found.meanLogProbability * (found.tokens.length + 1), 6);
  // ln of e¹⁹ / (e²⁰ + e¹⁹), and of e³ / (e³ + 8).
  expect(other).toBeCloseTo(-Math.log(1 + Math.E) - Math.log(1 + 6 / Math.exp(3)), 2);
  expect(suppressed).toBe(Number.NEGATIVE_INFINITY);
  expect(model.runs.slice(searched)).toEqual([
    [[...PROMPT, ...found.tokens]],
    [[...PROMPT, 4, 5]],
    [[...PROMPT, 3, 6]],
  ]);
});

/** A model that never ends: the same token again and again, or one after the other. */
describe('a text without an end', () => {
  const again = new ScriptedDecoder(10, () => ({ 3: 20 }));
  const counting = (maxTokens?: number) =>
    new ScriptedDecoder(
      10,
      (tokens) => ({ [(tokens.length * 7 + (tokens.length >> 2)) % 6]: 20 }),
      maxTokens,
    );

  test('that repeats itself is left with one copy', async () => {
    expect(await greedySearch(again, RULES, [], 100, signal)).toMatchObject({ tokens: [3], isCutOff: true });
    expect((await beamSearch(again, RULES, beams(5, 100), signal)).tokens.length).toBeLessThan(20);
  });

  test('that repeats itself takes all the time that there is, unless its first token is doubtful', async () => {
    const eight = [3, 3, 3, 3, 3, 3, 3, 3];
    const saidEightTimes = (): ScriptedDecoder =>
      new ScriptedDecoder(10, (tokens) => ({ [tokens.length - PROMPT.length < 8 ? 3 : END]: 20 }));
    const doubtful = { ...RULES, doubtfulFirst: 1 };
    expect(await greedySearch(saidEightTimes(), RULES, [], 100, signal)).toMatchObject({
      tokens: eight,
      isCutOff: false,
    });
    expect((await beamSearch(saidEightTimes(), RULES, beams(5, 100), signal)).tokens).toEqual(eight);
    const model = saidEightTimes();
    expect(await greedySearch(model, doubtful, [], 100, signal)).toMatchObject({
      tokens: [3],
      isCutOff: true,
    });
    expect(model.runs).toHaveLength(8);
  });

  test('is soon over where its first token is doubtful', async () => {
    // Every second text comes to an end at its first token, as the bundled model's do on a hum; the others go on and on.
    const hum = new ScriptedDecoder(10, (tokens) => ({
      3: 20,
      4: 20,
      [END]: tokens.length === PROMPT.length + 1 ? 19 : 0,
    }));
    await beamSearch(hum, { ...RULES, doubtfulFirst: 1 }, beams(5, 100), signal);
    expect(hum.runs.length).toBeLessThan(40);
  });

  test.each([10, 30])('that does not is cut after %i tokens', async (maxTokens) => {
    const found = await greedySearch(counting(), RULES, [], maxTokens, signal);
    expect(found).toMatchObject({ isCutOff: true });
    expect(found.tokens).toHaveLength(maxTokens);
    const beam = await beamSearch(counting(), RULES, beams(5, maxTokens), signal);
    expect(beam.isCutOff).toBe(true);
    expect(beam.tokens.length).toBeLessThanOrEqual(maxTokens);
  });

  test('never asks for more places than the decoder has', async () => {
    const found = await greedySearch(counting(12), RULES, [], 100, signal);
    expect(found.tokens).toHaveLength(12 - PROMPT.length);
    expect((await beamSearch(counting(12), RULES, beams(5, 100), signal)).tokens).toHaveLength(
      12 - PROMPT.length,
    );
  });

  test('loses to one with an end', async () => {
    const script = { '': { 3: 20, 4: 15 }, '4': { [END]: 20 } };
    const model = new ScriptedDecoder(10, (tokens) => {
      const text = tokens.slice(PROMPT.length);
      return text[0] === 3 ? { 3: 20 } : (script[text.join(',') as '' | '4'] ?? { [END]: 20 });
    });
    expect(await beamSearch(model, RULES, beams(2, 100), signal)).toMatchObject({
      tokens: [4],
      isCutOff: false,
    });
  });
});

test.each([
  [[1, 1, 1, 1, 1, 1, 1], 7],
  [[5, 1, 1, 1, 1, 1, 1, 1, 1], 2],
  [[5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], 2],
  [[1, 2, 1, 2, 1, 2], 6],
  [[1, 2, 1, 2, 1, 2, 1, 2, 1], 2],
  [[1, 2, 3, 1, 2, 3], 6],
  [[9, 1, 2, 3, 1, 2, 3, 1, 2, 3], 4],
  [[9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2], 4],
  [[1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3, 4], 12],
  [Array.from({ length: 120 }, (_, i) => i % 40), 40],
  [[], 0],
])('what repeats at the end: %j keeps %o tokens', (tokens, length) => {
  expect(lengthWithoutLoop(tokens)).toBe(length);
});
