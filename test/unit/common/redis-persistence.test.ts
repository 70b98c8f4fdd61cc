import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../common/log.ts';
import { persistenceWarning, writesToDisk } from '../../../common/redis-persistence.ts';
import { warnOfRedis } from '../../../common/redis-warnings.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

test.each([
  ['3600 1', 'no', 'may write recordings to disk (save "3600 1", appendonly no)'],
  ['', 'yes', 'may write recordings to disk (save "", appendonly yes)'],
  ['', undefined, 'cannot tell whether'],
  [undefined, 'no', 'cannot tell whether'],
])('a Redis with save %j and appendonly %j is warned about', (save, appendonly, warning) => {
  expect(writesToDisk(save, appendonly)).toContain(warning);
});

test('one that keeps nothing is not, also where it may not say whether it has replicas', async () => {
  expect(await persistenceWarning(redis.client)).toBeUndefined();
  await redis.client.acl('SETUSER', 'limited', 'on', 'nopass', '~*', '+@all', '-info');
  const limited = redis.client.duplicate({ username: 'limited', password: 'any' });
  onTestFinished(() => limited.disconnect());
  await expect(limited.info()).rejects.toThrow('NOPERM');
  expect(await persistenceWarning(limited)).toBeUndefined();
});

test('a warning is logged once, not with each connection anew', async () => {
  await redis.client.config('SET', 'save', '3600 1');
  const lines: string[] = [];
  const log = createLogger('info', 'api', { write: (line) => void lines.push(line) });
  const client = new Redis(redis.url, { lazyConnect: true, retryStrategy: () => 10 });
  onTestFinished(() => client.disconnect());
  warnOfRedis(client, log);
  await client.connect();
  await expect.poll(() => lines).toEqual([expect.stringContaining('may write recordings to disk')]);
  client.disconnect(true);
  await once(client, 'ready');
  // More answers than a look waits for.
  for (let n = 0; n < 10; n += 1) await client.ping();
  expect(lines).toHaveLength(1);
});
