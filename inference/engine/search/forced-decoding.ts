import { logProbabilities, type SearchRules, type TokenDecoder } from './token-decoder.ts';

/** Texts in one pass each behind the prompt, which is run once. */
export class ForcedDecoding<State> {
  readonly #decoder: TokenDecoder<State>;
  readonly #rules: SearchRules;
  readonly #signal: AbortSignal;
  #prompted: { readonly scores: Float32Array; readonly state: State } | undefined;

  /** @param signal aborts between two runs. */
  constructor(decoder: TokenDecoder<State>, rules: SearchRules, signal: AbortSignal) {
    this.#decoder = decoder;
    this.#rules = rules;
    this.#signal = signal;
  }

  /**
   * @param tokens at least one.
   * @returns log-probabilities of all tokens, as the search counts them, in nats: in the place of each of the
   * text's tokens, and behind the last one.
   * @throws InferenceError when a run fails; the signal's reason.
   */
  async rows(tokens: readonly number[]): Promise<Float64Array[]> {
    const { vocabularySize } = this.#decoder;
    this.#prompted ??= await this.#decoder.run(this.#decoder.start(), [this.#rules.prompt]);
    this.#signal.throwIfAborted();
    const { scores } = await this.#decoder.run(this.#prompted.state, [tokens]);
    const first = this.#prompted.scores.subarray(-vocabularySize);
    const others = tokens.map((_, i) => scores.subarray(i * vocabularySize, (i + 1) * vocabularySize));
    return [first, ...others].map((row, i) => logProbabilities(row, this.#rules, i === 0));
  }
}
