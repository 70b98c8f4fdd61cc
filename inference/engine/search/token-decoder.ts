import { InferenceError } from '../../recognizer.ts';

/**
 * A network that says how likely each token is to come next after a row of tokens. What it has seen of several
 * hypotheses at once is its `State`. No call changes a state.
 */
export interface TokenDecoder<State> {
  readonly vocabularySize: number;
  /** Tokens that a hypothesis can have in all, those of the prompt included. */
  readonly maxTokens: number;

  /** One hypothesis without tokens. */
  start(): State;

  /**
   * Runs tokens behind those of the state.
   * @param rows one a hypothesis, all of one length.
   * @returns scores (hypotheses, tokens, vocabulary) and the state behind them.
   * @throws InferenceError when the run fails.
   */
  run(state: State, rows: readonly (readonly number[])[]): Promise<{ scores: Float32Array; state: State }>;

  /** @param parents of each new hypothesis, which one of the state's it continues. */
  select(state: State, parents: readonly number[]): State;
}

/** What a search may say, and how it begins. */
export interface SearchRules {
  /** In front of every text. */
  readonly prompt: readonly number[];
  readonly endId: number;
  /** Of each id 1 when it is never part of a text. */
  readonly suppressed: Uint8Array;
  /** Ids that no text begins with, besides. */
  readonly suppressedFirst: ReadonlySet<number>;
  /**
   * Below this log-probability the first token is doubtful, and the recording may say nothing. Then a text ends as soon as
   * it repeats itself. Where the first token is sure, only the time that there is for a text tells a loop from what was
   * really said eight times.
   */
  readonly doubtfulFirst: number;
}

export interface Hypothesis {
  /** Without prompt and end. */
  readonly tokens: readonly number[];
  /** Sum of the log-probabilities of tokens and end, divided by the number of both. */
  readonly meanLogProbability: number;
  /** Log-probability of the most likely first token. */
  readonly firstLogProbability: number;
  /** No end came: the text ran into the limit of its length, or repeated itself. */
  readonly isCutOff: boolean;
}

/**
 * Log-softmax over the tokens that are allowed.
 * @param scores of all tokens; left as they are.
 * @returns −∞ for those that are not.
 * @throws InferenceError when a score is no number.
 */
export function logProbabilities(scores: Float32Array, rules: SearchRules, isFirst: boolean): Float64Array {
  const result = new Float64Array(scores.length).fill(Number.NEGATIVE_INFINITY);
  const isAllowed = (id: number): boolean =>
    rules.suppressed[id] !== 1 && !(isFirst && rules.suppressedFirst.has(id));
  let max = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < scores.length; id++) if (isAllowed(id)) max = Math.max(max, scores[id] ?? 0);
  if (!Number.isFinite(max))
    throw new InferenceError(`the model gave ${max} as its highest score, expected a number`);
  let sum = 0;
  for (let id = 0; id < scores.length; id++) if (isAllowed(id)) sum += Math.exp((scores[id] ?? 0) - max);
  const logSum = max + Math.log(sum);
  for (let id = 0; id < scores.length; id++) if (isAllowed(id)) result[id] = (scores[id] ?? 0) - logSum;
  return result;
}
