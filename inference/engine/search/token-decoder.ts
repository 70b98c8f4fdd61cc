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
  /** Of each id 1 when no text begins with it, those that are never part of one included. */
  readonly suppressedFirst: Uint8Array;
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

/** A token and its log-probability. */
export interface Likely {
  readonly id: number;
  readonly nats: number;
}

/** Log-softmax of a row of scores, over the tokens that are allowed. */
export class Likelihoods {
  readonly #scores: Float32Array;
  readonly #suppressed: Uint8Array;
  readonly #logSum: number;

  /**
   * @param scores of all tokens; left as they are.
   * @throws InferenceError when a score is no number.
   */
  constructor(scores: Float32Array, rules: SearchRules, isFirst: boolean) {
    const suppressed = isFirst ? rules.suppressedFirst : rules.suppressed;
    let max = Number.NEGATIVE_INFINITY;
    for (let id = 0; id < scores.length; id++) {
      const score = scores[id] ?? 0;
      if (score > max && suppressed[id] !== 1) max = score;
    }
    let sum = 0;
    for (let id = 0; id < scores.length; id++)
      if (suppressed[id] !== 1) sum += Math.exp((scores[id] ?? 0) - max);
    if (!Number.isFinite(max) || Number.isNaN(sum))
      throw new InferenceError('the model gave scores that are no numbers, expected numbers');
    this.#scores = scores;
    this.#suppressed = suppressed;
    this.#logSum = max + Math.log(sum);
  }

  /** Log-probability of a token; −∞ if it is not allowed. */
  of(id: number): number {
    return this.#suppressed[id] === 1 ? Number.NEGATIVE_INFINITY : (this.#scores[id] ?? 0) - this.#logSum;
  }

  /** The likeliest tokens, the likeliest first; of equals the one with the lower id. */
  highest(count: number): Likely[] {
    const [scores, suppressed] = [this.#scores, this.#suppressed];
    const found: { readonly id: number; readonly score: number }[] = [];
    let least = Number.NEGATIVE_INFINITY;
    for (let id = 0; id < scores.length; id++) {
      const score = scores[id] ?? 0;
      if (score <= least || suppressed[id] === 1) continue;
      let place = found.length;
      while (place > 0 && score > (found[place - 1]?.score ?? 0)) place -= 1;
      found.splice(place, 0, { id, score });
      if (found.length > count) found.pop();
      if (found.length === count) least = found[count - 1]?.score ?? least;
    }
    return found.map(({ id, score }) => ({ id, nats: score - this.#logSum }));
  }
}
