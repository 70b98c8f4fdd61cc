import { expect, test } from 'vitest';
import { StoreUnavailable } from '../../../../common/errors/errors.ts';
import { retryUntilAnswered } from '../../../../common/store/retry.ts';
import { pausesSkipped } from '../../../support/machine/pauses.ts';

/** A command that Redis answers at the try after so many. */
function answeredAfter(failures: number, error: Error): () => Promise<number> {
  let tries = 0;
  return async () => {
    tries += 1;
    if (tries <= failures) throw error;
    return tries;
  };
}
const away = new StoreUnavailable('Redis: Command timed out');

test('an outage costs a fraction of a second more than it lasts, and its end before the deadline nothing else', async () => {
  const pauses = pausesSkipped();
  expect(await retryUntilAnswered(performance.now() + 10_000, answeredAfter(2, away))).toBe(3);
  expect(pauses).toHaveLength(2);
  expect(Math.max(...pauses)).toBeLessThan(500);
});

test('at the deadline it is given up; what is no outage at once', async () => {
  await expect(retryUntilAnswered(performance.now() + 100, answeredAfter(5, away))).rejects.toBe(away);
  const refused = new TypeError('no outage');
  await expect(retryUntilAnswered(performance.now() + 10_000, answeredAfter(1, refused))).rejects.toBe(
    refused,
  );
});
