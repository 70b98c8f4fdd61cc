import { lengthWithoutLoop } from './repetition.ts';
import { type Hypothesis, logProbabilities, type SearchRules, type TokenDecoder } from './token-decoder.ts';

/**
 * The most likely token at each place, behind tokens that are given.
 * @param forced what the text begins with; taken as it is, and left out of the mean log-probability.
 * @param maxTokens of the text, those included.
 * @param signal aborts between two runs.
 * @throws InferenceError when a run fails; the signal's reason.
 */
export async function greedySearch<State>(
  decoder: TokenDecoder<State>,
  rules: SearchRules,
  forced: readonly number[],
  maxTokens: number,
  signal: AbortSignal,
): Promise<Hypothesis> {
  const { vocabularySize } = decoder;
  const tokens = [...forced];
  const limit = Math.min(maxTokens, decoder.maxTokens - rules.prompt.length);
  let { scores, state } = await decoder.run(decoder.start(), [[...rules.prompt, ...forced]]);
  const behindPrompt = (rules.prompt.length - 1) * vocabularySize;
  const first = logProbabilities(scores.subarray(behindPrompt, behindPrompt + vocabularySize), rules, true);
  const firstLogProbability = first[indexOfMax(first)] ?? 0;
  let sum = 0;
  const isDoubtful = firstLogProbability < rules.doubtfulFirst;
  const result = (isCutOff: boolean): Hypothesis => {
    const decoded = tokens.length - forced.length + (isCutOff ? 0 : 1);
    return { tokens, meanLogProbability: sum / Math.max(1, decoded), firstLogProbability, isCutOff };
  };
  while (tokens.length < limit) {
    const next = logProbabilities(scores.subarray(-vocabularySize), rules, tokens.length === 0);
    const id = indexOfMax(next);
    sum += next[id] ?? 0;
    if (id === rules.endId) return result(false);
    tokens.push(id);
    if (isDoubtful && lengthWithoutLoop(tokens) < tokens.length) break;
    signal.throwIfAborted();
    ({ scores, state } = await decoder.run(state, [[id]]));
  }
  tokens.length = lengthWithoutLoop(tokens);
  return result(true);
}

function indexOfMax(values: Float64Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] ?? 0) > (values[best] ?? 0)) best = i;
  return best;
}
