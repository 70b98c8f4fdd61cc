import { expect, test } from 'vitest';
import { growthTable, type Sample } from './report.ts';

test.each([
  [1.04, false],
  [1.06, true],
])('memory of %d times that of the second quarter has grown: %s', (ratio, hasGrown) => {
  const samples = Array.from({ length: 8 }, (_, index): Sample => {
    const rssMb = index < 6 ? 100 : 100 * ratio;
    return {
      minutes: index,
      keys: 0,
      holdings: { steady: { rssMb: 50, handles: 9 }, api: { rssMb, handles: 9 } },
    };
  });
  expect(growthTable(samples).hasGrown).toBe(hasGrown);
});
