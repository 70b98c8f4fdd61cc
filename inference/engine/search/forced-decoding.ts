import { logProbabilities, type SearchRules, type TokenDecoder } from './token-decoder.ts';

/**
 * How likely each of some texts is, as the search counts it, the end included.
 * @param texts tokens of each, at least one.
 * @param signal aborts between two runs.
 * @returns sums of log-probabilities, in nats; −∞ for a text that has a suppressed token.
 * @throws InferenceError when a run fails; the signal's reason.
 */
export async function textLogProbabilities<State>(
  decoder: TokenDecoder<State>,
  rules: SearchRules,
  texts: readonly (readonly number[])[],
  signal: AbortSignal,
): Promise<number[]> {
  const { vocabularySize } = decoder;
  const prompted = await decoder.run(decoder.start(), [rules.prompt]);
  const first = prompted.scores.subarray(-vocabularySize);
  const found: number[] = [];
  for (const tokens of texts) {
    signal.throwIfAborted();
    const { scores } = await decoder.run(prompted.state, [tokens]);
    let sum = 0;
    for (const [i, id] of [...tokens, rules.endId].entries()) {
      const row = i === 0 ? first : scores.subarray((i - 1) * vocabularySize, i * vocabularySize);
      sum += logProbabilities(row, rules, i === 0)[id] ?? 0;
    }
    found.push(sum);
  }
  return found;
}
