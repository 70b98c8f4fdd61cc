import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLogger } from '../../../common/log.ts';
import type { RedisClient } from '../../../common/lua.ts';
import { persistenceWarning } from '../../../common/redis-persistence.ts';
import { warnOfRedis } from '../../../common/redis-warnings.ts';

/** A Redis that answers like this. @param info what it says about its replicas; without it, that it may not */
function redisWith(settings: Record<string, string>, info?: string): RedisClient {
  const redis = {
    config: async (_get: string, name: string) => (name in settings ? [name, settings[name]] : []),
    info: async () => {
      if (info === undefined) throw new Error('NOPERM');
      return info;
    },
  };
  return redis as unknown as RedisClient;
}
const NOTHING_KEPT = { save: '', appendonly: 'no' };

test.each([
  [{ save: '3600 1', appendonly: 'no' }, 'may write recordings to disk (save "3600 1", appendonly no)'],
  [{ save: '', appendonly: 'yes' }, 'may write recordings to disk (save "", appendonly yes)'],
  [{ save: '' }, 'cannot tell whether'],
  [{ appendonly: 'no' }, 'cannot tell whether'],
])('a Redis with %j is warned about', async (settings, warning) => {
  expect(await persistenceWarning(redisWith(settings, ''))).toContain(warning);
});

test('one that keeps nothing is not, also where it may not say whether it has replicas', async () => {
  expect(
    await persistenceWarning(redisWith(NOTHING_KEPT, 'role:master\r\nconnected_slaves:0\r\n')),
  ).toBeUndefined();
  expect(await persistenceWarning(redisWith(NOTHING_KEPT))).toBeUndefined();
});

test('a warning is logged once, not with each connection anew', async () => {
  const lines: string[] = [];
  const log = createLogger('info', 'api', { write: (line) => void lines.push(line) });
  const redis = Object.assign(new EventEmitter(), redisWith({ save: '3600 1', appendonly: 'no' }, ''));
  warnOfRedis(redis as unknown as RedisClient, log);
  for (const _ of ['at first', 'after an outage']) {
    redis.emit('ready');
    await turn();
  }
  expect(lines).toEqual([expect.stringContaining('may write recordings to disk')]);
});
