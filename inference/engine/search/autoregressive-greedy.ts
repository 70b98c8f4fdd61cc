import { lengthWithoutLoop } from './repetition.ts';
import {
  type Hypothesis,
  Likelihoods,
  type Likely,
  type SearchRules,
  type TokenDecoder,
} from './token-decoder.ts';

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
  const firstScores = scores.subarray(behindPrompt, behindPrompt + vocabularySize);
  const firstLogProbability = likeliest(firstScores, rules, true).nats;
  let sum = 0;
  const isDoubtful = firstLogProbability < rules.doubtfulFirst;
  const result = (isCutOff: boolean): Hypothesis => {
    const decoded = tokens.length - forced.length + (isCutOff ? 0 : 1);
    return { tokens, meanLogProbability: sum / Math.max(1, decoded), firstLogProbability, isCutOff };
  };
  while (tokens.length < limit) {
    const { id, nats } = likeliest(scores.subarray(-vocabularySize), rules, tokens.length === 0);
    sum += nats;
    if (id === rules.endId) return result(false);
    tokens.push(id);
    if (isDoubtful && lengthWithoutLoop(tokens) < tokens.length) break;
    signal.throwIfAborted();
    ({ scores, state } = await decoder.run(state, [[id]]));
  }
  tokens.length = lengthWithoutLoop(tokens);
  return result(true);
}

function likeliest(scores: Float32Array, rules: SearchRules, isFirst: boolean): Likely {
  const [best] = new Likelihoods(scores, rules, isFirst).highest(1);
  return best ?? { id: rules.endId, nats: 0 };
}
