import { expect, test } from 'vitest';
import { CtcGreedySearch } from '../../../../../inference/engine/search/ctc-search.ts';

test('of tokens with the same score the first one is taken, as in the reference engine', () => {
  const search = new CtcGreedySearch(0);
  search.accept(Float32Array.of(0, 1, 1, 2, 1, 2), 3);
  expect(search.tokenIds).toEqual([1]);
});

test('a recording may begin with any token but the blank, wherever in the table that is', () => {
  for (const blankId of [0, 1, 2]) {
    const search = new CtcGreedySearch(blankId);
    search.accept(Float32Array.of(1, 0, 0), 3);
    expect(search.tokenIds).toEqual(blankId === 0 ? [] : [0]);
  }
});
