import { Likelihoods, type SearchRules, type TokenDecoder } from './token-decoder.ts';

/**
 * A text in one pass, together with the prompt: sherpa-onnx's exports take several tokens at the start alone.
 * @param tokens of the text, at least one.
 * @returns how likely tokens are, as the search counts them: in the place of each of the text's tokens, and behind the last.
 * @throws InferenceError when the run fails.
 */
export async function forcedRows<State>(
  decoder: TokenDecoder<State>,
  rules: SearchRules,
  tokens: readonly number[],
): Promise<Likelihoods[]> {
  const { vocabularySize } = decoder;
  const { scores } = await decoder.run(decoder.start(), [[...rules.prompt, ...tokens]]);
  return [...tokens, rules.endId].map((_, i) => {
    const start = (rules.prompt.length - 1 + i) * vocabularySize;
    return new Likelihoods(scores.subarray(start, start + vocabularySize), rules, i === 0);
  });
}
