import { InferenceError } from '../../recognizer.ts';

/**
 * Greedy CTC ("best path decoding" of Graves et al., "Connectionist Temporal Classification", 2006): the best
 * token of each output frame, without repeats and blanks. The last best token carries over steps.
 */
export class CtcGreedySearch {
  readonly tokenIds: number[] = [];
  readonly #blankId: number;
  #previousId = -1;

  constructor(blankId: number) {
    this.#blankId = blankId;
  }

  /** @param scores (frames, vocabularySize) row by row. */
  accept(scores: Float32Array, vocabularySize: number): void {
    for (let start = 0; start < scores.length; start += vocabularySize) {
      const id = argmax(scores, start, vocabularySize);
      if (id !== this.#blankId && id !== this.#previousId) this.tokenIds.push(id);
      this.#previousId = id;
    }
  }
}

/**
 * Index, from `start`, of the largest of `count` values; the first of equals.
 * @throws InferenceError when the values are no numbers: damaged weights make a whole frame NaN, which would pass for silence.
 */
export function argmax(values: Float32Array, start: number, count: number): number {
  let best = 0;
  let bestValue = values[start] ?? 0;
  if (Number.isNaN(bestValue)) throw new InferenceError('the model gave NaN as scores, expected numbers');
  for (let i = 1; i < count; i++) {
    const value = values[start + i] ?? 0;
    if (value > bestValue) {
      best = i;
      bestValue = value;
    }
  }
  return best;
}
