import { lengthWithoutLoop } from './repetition.ts';
import { type Hypothesis, logProbabilities, type SearchRules, type TokenDecoder } from './token-decoder.ts';

export interface BeamOptions {
  /** Texts that are followed at once. */
  readonly width: number;
  /** Taken off the log-probability of an end, so that a text goes on where it may as well. */
  readonly endPenalty: number;
}

interface Beam {
  readonly tokens: readonly number[];
  /** Of their log-probabilities. */
  readonly sum: number;
}

interface Candidate extends Beam {
  readonly parent: number;
  readonly id: number;
  /** By which candidates are ordered: the sum, less the penalty of an end. */
  readonly rank: number;
}

/** A text that grows no more. */
interface Finished {
  readonly hypothesis: Hypothesis;
  /** The rank by number of tokens and end. */
  readonly meanRank: number;
}

/**
 * Follows the most likely texts at once, as `BeamSearchDecoder` in openai/whisper's decoding.py does, and takes
 * the one with the highest mean rank of those that came to an end. One that is cut off is taken only where
 * none came to an end.
 * @param maxTokens of a text.
 * @param signal aborts between two runs.
 * @throws InferenceError when a run fails; the signal's reason.
 */
export async function beamSearch<State>(
  decoder: TokenDecoder<State>,
  rules: SearchRules,
  { width, endPenalty }: BeamOptions,
  maxTokens: number,
  signal: AbortSignal,
): Promise<Hypothesis> {
  const { vocabularySize } = decoder;
  const limit = Math.min(maxTokens, decoder.maxTokens - rules.prompt.length);
  let { scores, state } = await decoder.run(decoder.start(), [rules.prompt]);
  scores = scores.subarray(-vocabularySize);
  let beams: readonly Beam[] = [{ tokens: [], sum: 0 }];
  let firstLogProbability: number | undefined;
  const ended: Finished[] = [];
  const cutOff: Finished[] = [];
  for (;;) {
    const candidates = beams.flatMap(({ sum, tokens }, parent) => {
      const row = scores.subarray(parent * vocabularySize, (parent + 1) * vocabularySize);
      return highest(logProbabilities(row, rules, tokens.length === 0), width + 1).map(
        ({ id, value }): Candidate => {
          const isEnd = id === rules.endId;
          const rank = sum + value - (isEnd ? endPenalty : 0);
          return { parent, id, tokens: isEnd ? tokens : [...tokens, id], sum: sum + value, rank };
        },
      );
    });
    candidates.sort((a, b) => b.rank - a.rank);
    firstLogProbability ??= candidates[0]?.sum ?? 0;
    const next: Candidate[] = [];
    for (const candidate of candidates) {
      if (next.length === width) break;
      const { id, tokens } = candidate;
      if (id === rules.endId) {
        if (ended.length < width) ended.push(finished(candidate, firstLogProbability, tokens.length + 1));
        continue;
      }
      const length = tokens.length < limit ? lengthWithoutLoop(tokens) : tokens.length;
      if (length === undefined) next.push(candidate);
      else cutOff.push(finished(candidate, firstLogProbability, tokens.length, length));
    }
    if (ended.length === width || next.length === 0) return best(ended.length > 0 ? ended : cutOff);
    signal.throwIfAborted();
    const selected = decoder.select(
      state,
      next.map(({ parent }) => parent),
    );
    ({ scores, state } = await decoder.run(
      selected,
      next.map(({ id }) => [id]),
    ));
    beams = next;
  }
}

/** @param count of tokens and end. @param keptTokens of a text that is cut off. */
function finished(
  { tokens, sum, rank }: Candidate,
  firstLogProbability: number,
  count: number,
  keptTokens?: number,
): Finished {
  const hypothesis = {
    tokens: tokens.slice(0, keptTokens),
    meanLogProbability: sum / count,
    firstLogProbability,
    isCutOff: keptTokens !== undefined,
  };
  return { hypothesis, meanRank: rank / count };
}

function best(all: readonly Finished[]): Hypothesis {
  return all.reduce((a, b) => (b.meanRank > a.meanRank ? b : a)).hypothesis;
}

/** The highest values, the highest first; of equals the one with the lower id. */
function highest(values: Float64Array, count: number): { id: number; value: number }[] {
  const found: { id: number; value: number }[] = [];
  for (let id = 0; id < values.length; id++) {
    const value = values[id] ?? Number.NEGATIVE_INFINITY;
    const last = found.at(-1);
    if (value === Number.NEGATIVE_INFINITY) continue;
    if (found.length === count && last !== undefined && value <= last.value) continue;
    if (found.length === count) found.pop();
    let place = found.length;
    while (place > 0 && value > (found[place - 1]?.value ?? 0)) place -= 1;
    found.splice(place, 0, { id, value });
  }
  return found;
}
