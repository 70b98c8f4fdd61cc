import { expect, test } from 'vitest';
import { StoreUnavailable } from '../../../common/errors.ts';
import { createLogger } from '../../../common/log.ts';
import { refusedWith } from '../../../common/redis.ts';
import { Outage, OutageLog } from '../../../common/redis-outage.ts';

/** What Redis 6.2 answers to a script that met a refusal; a newer one answers with the refusal itself. */
const byScript = (refusal: string): string =>
  `ERR Error running script (call to f_45e87c07f6aff394093b73766a458691d0460655): @user_script:12: @user_script: 12: -${refusal}`;

const REPLICA = "READONLY You can't write against a read only replica.";
const FULL = "OOM command not allowed when used memory > 'maxmemory'.";

test.each([REPLICA, byScript(REPLICA)])('a replica is known by its answer: %s', (answer) => {
  expect(refusedWith('READONLY', answer)).toBe(true);
  expect(refusedWith('OOM', answer)).toBe(false);
});

test.each([FULL, byScript(FULL)])('a Redis that is full is one line that says what to do: %s', (answer) => {
  const lines: string[] = [];
  const outages = new OutageLog(
    createLogger('info', 'inference', { write: (line) => void lines.push(line) }),
  );
  const refusal = new StoreUnavailable('Redis', { cause: new Error(answer) });
  outages.failed(refusal);
  outages.failed(refusal);
  expect(lines).toEqual([expect.stringContaining('maxmemory is reached: raise it')]);
});

test('an address with several sides that all refuse has a reason, too', () => {
  const sides = ['::1', '127.0.0.1'].map((side) => new Error(`connect ECONNREFUSED ${side}:6379`));
  const outage = new Outage();
  expect(outage.heard(new AggregateError(sides))?.reason).toContain('ECONNREFUSED 127.0.0.1:6379');
  expect(outage.heard(new Error('another attempt'))).toBeUndefined();
});

test.each(['WRONGPASS invalid username-password pair', 'NOAUTH Authentication required.'])(
  'what a Cluster’s client keeps in an error of its own is said: %s',
  (answer) => {
    const error = Object.assign(new Error('Failed to refresh slots cache.'), {
      lastNodeError: new Error(answer),
    });
    expect(new Outage().heard(error)).toMatchObject({
      isRefusal: true,
      line: expect.stringContaining('REDIS_URL'),
    });
  },
);
