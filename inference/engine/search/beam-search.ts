import { lengthWithoutLoop } from './repetition.ts';
import { type Hypothesis, Likelihoods, type SearchRules, type TokenDecoder } from './token-decoder.ts';

interface Beam {
  readonly tokens: readonly number[];
  /** Of their log-probabilities. */
  readonly sum: number;
}

interface Continuation {
  readonly parent: number;
  readonly id: number;
  readonly sum: number;
}

export interface BeamLimits {
  /** Texts that are followed at once. */
  readonly width: number;
  /** The search is over when so many have come to an end. */
  readonly endings: number;
  /** Of a text. */
  readonly maxTokens: number;
}

/**
 * Follows the most likely texts at once, as `BeamSearchDecoder` in openai/whisper's decoding.py does. Of those
 * that came to an end, it takes the one with the highest mean log-probability. It takes one that is cut off only if none
 * came to an end.
 * @param fits which of those that came to an end are preferred.
 * @param signal aborts between two runs.
 * @throws InferenceError when a run fails; the signal's reason.
 */
export async function beamSearch<State>(
  decoder: TokenDecoder<State>,
  rules: SearchRules,
  { width, endings, maxTokens }: BeamLimits,
  signal: AbortSignal,
  fits: (ended: Hypothesis) => boolean = () => true,
): Promise<Hypothesis> {
  const { vocabularySize } = decoder;
  const limit = Math.min(maxTokens, decoder.maxTokens - rules.prompt.length);
  let { scores, state } = await decoder.run(decoder.start(), [rules.prompt]);
  scores = scores.subarray(-vocabularySize);
  let beams: readonly Beam[] = [{ tokens: [], sum: 0 }];
  let firstLogProbability: number | undefined;
  const ended: Hypothesis[] = [];
  const cutOff: Hypothesis[] = [];
  for (;;) {
    const candidates = beams.flatMap(({ sum, tokens }, parent) => {
      const row = scores.subarray(parent * vocabularySize, (parent + 1) * vocabularySize);
      return new Likelihoods(row, rules, tokens.length === 0)
        .highest(width + 1)
        .map(({ id, nats }): Continuation => ({ parent, id, sum: sum + nats }));
    });
    candidates.sort((a, b) => b.sum - a.sum);
    firstLogProbability ??= candidates[0]?.sum ?? 0;
    const first = firstLogProbability;
    const kept: Continuation[] = [];
    const next: Beam[] = [];
    for (const candidate of candidates) {
      if (next.length === width) break;
      const { parent, id, sum } = candidate;
      const before = beams[parent]?.tokens ?? [];
      if (id === rules.endId) {
        if (ended.length < endings) ended.push(hypothesis(before, sum / (before.length + 1), first, false));
        continue;
      }
      const tokens = [...before, id];
      const length = lengthWithoutLoop(tokens);
      if (tokens.length >= limit || (first < rules.doubtfulFirst && length < tokens.length)) {
        cutOff.push(hypothesis(tokens.slice(0, length), sum / tokens.length, first, true));
        continue;
      }
      kept.push(candidate);
      next.push({ tokens, sum });
    }
    if (ended.length + cutOff.length >= endings || next.length === 0)
      return best([ended.filter(fits), ended, cutOff].find(({ length }) => length > 0) ?? []);
    signal.throwIfAborted();
    const selected = decoder.select(
      state,
      kept.map(({ parent }) => parent),
    );
    ({ scores, state } = await decoder.run(
      selected,
      kept.map(({ id }) => [id]),
    ));
    beams = next;
  }
}

function hypothesis(
  tokens: readonly number[],
  meanLogProbability: number,
  firstLogProbability: number,
  isCutOff: boolean,
): Hypothesis {
  return { tokens, meanLogProbability, firstLogProbability, isCutOff };
}

function best(hypotheses: readonly Hypothesis[]): Hypothesis {
  return hypotheses.reduce((a, b) => (b.meanLogProbability > a.meanLogProbability ? b : a));
}
