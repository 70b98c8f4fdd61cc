import { logProbabilities, type SearchRules, type TokenDecoder } from './token-decoder.ts';

/**
 * A text in one pass, together with the prompt: sherpa-onnx's exports take several tokens at the start alone.
 * @param tokens of the text, at least one.
 * @returns log-probabilities of all tokens, as the search counts them, in nats: in the place of each of the text's
 * tokens, and behind the last one.
 * @throws InferenceError when the run fails.
 */
export async function forcedRows<State>(
  decoder: TokenDecoder<State>,
  rules: SearchRules,
  tokens: readonly number[],
): Promise<Float64Array[]> {
  const { vocabularySize } = decoder;
  const { scores } = await decoder.run(decoder.start(), [[...rules.prompt, ...tokens]]);
  return [...tokens, rules.endId].map((_, i) => {
    const start = (rules.prompt.length - 1 + i) * vocabularySize;
    return logProbabilities(scores.subarray(start, start + vocabularySize), rules, i === 0);
  });
}
