import { once } from 'node:events';
import { describe, type TestContext, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis/redis.ts';
import { ProcessUnderTest } from '../support/service/inference-process.ts';

const AWAY = 'Redis is away';
const REFUSES = 'Redis refuses';
const SERVING = { api: 'serving', inference: 'model loaded' };
const ENDED = { code: 0, signal: null };

async function ownRedis({ onTestFinished }: TestContext): Promise<TestRedis> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  return redis;
}

/** @throws what it said, when it ends before it should */
async function ended(ending: ProcessUnderTest): Promise<never> {
  await ending.exited;
  throw new Error(`the process has ended:\n${ending.stdout}${ending.stderr}`);
}

/**
 * Nothing tells these processes to exit: they end when they have nothing to wait for, which a connection that
 * is still tried would be.
 */
describe.concurrent.each(['api', 'inference'] as const)('a stop of %s leaves no connection', (part) => {
  const serving = SERVING[part];

  function start({ onTestFinished }: TestContext, endingAt: string, redisUrl: string): ProcessUnderTest {
    const ending = new ProcessUnderTest('test/support/service/ending-process.js', {
      REDIS_URL: redisUrl,
      ENDING_PART: part,
      ENDING_AT: endingAt,
    });
    onTestFinished(() => ending.stop());
    return ending;
  }

  test('when it serves', async (context) => {
    const redis = await ownRedis(context);
    context.expect(await start(context, serving, redis.url).exited).toEqual(ENDED);
  });

  test.for([AWAY, serving])('without a Redis, at “%s”', async (endingAt, context) => {
    const redis = await ownRedis(context);
    await redis.kill();
    const ending = start(context, endingAt, redis.url);
    context.expect(await ending.exited).toEqual(ENDED);
    context.expect(ending.stderr).toBe('');
    context.expect(ending.logged('a shutdown step failed')).toEqual([]);
  });

  test('after Redis has gone', async (context) => {
    const redis = await ownRedis(context);
    const ending = start(context, AWAY, redis.url);
    const { stdout } = ending.child;
    while (stdout && ending.logged(serving).length === 0)
      await Promise.race([once(stdout, 'data'), ended(ending)]);
    await redis.kill();
    context.expect(await ending.exited).toEqual(ENDED);
  });

  test.for([REFUSES, serving])('with a Redis that is no Cluster, at “%s”', async (endingAt, context) => {
    const redis = await ownRedis(context);
    const ending = start(context, endingAt, redis.url.replace('redis:', 'redis+cluster:'));
    context.expect(await ending.exited).toEqual(ENDED);
  });
});
