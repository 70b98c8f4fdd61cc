import { expect, test } from 'vitest';
import { ContinuousIntegrateAndFire } from '../../../../../inference/engine/search/continuous-integrate-and-fire.ts';

/** Row i is [i, 1]: the second value of an embedding is the sum of the weights in it. */
test.each<[weights: number[], tokens: number[][], last: number[] | undefined]>([
  [[], [], undefined],
  [[0.5, 0.25], [], [0.25, 0.75]],
  [[0.5, 0], [], undefined],
  // The row in which a token ends belongs to it and to the next one.
  [[0.5, 0.75, 0.5], [[0.5, 1]], [1.25, 0.75]],
  [
    [0.25, 0.75, 0.5, 0.5],
    [
      [0.75, 1],
      [2.5, 1],
    ],
    undefined,
  ],
  // With the tail of 0.45 it ends, or it does not.
  [[0.5625], [], [0, 0.5625]],
  [[0.53125], [], undefined],
])('rows that weigh %j end the tokens %j, and a tail %j', (weights, tokens, last) => {
  const rows = Float32Array.from(weights.flatMap((_, i) => [i, 1]));
  for (const cut of [weights.length, 1]) {
    const cif = new ContinuousIntegrateAndFire(2);
    const fired: number[][] = [];
    for (let start = 0; start < weights.length; start += cut) {
      const some = rows.subarray(2 * start, 2 * (start + cut));
      const weigh = Float32Array.from(weights.slice(start, start + cut));
      fired.push(...cif.accept(some, weigh).map((token) => [...token]));
    }
    expect(fired).toEqual(tokens);
    expect(cif.flush()).toEqual(last === undefined ? undefined : Float32Array.from(last));
  }
});
