import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../support/redis/redis.ts';
import { TOKEN } from '../support/service/api.ts';
import { ProcessUnderTest } from '../support/service/inference-process.ts';

const REJECTS = `process.on('SIGUSR2', () => { Promise.reject(new RangeError('nobody awaits this')); })`;

test.each([
  ['api', 'serving'],
  ['inference', 'model loaded'],
])(
  '%s says in one log line that it dies of an unhandled rejection',
  async (part, serving) => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const dying = new ProcessUnderTest(`${part}/main.js`, {
      REDIS_URL: redis.url,
      ASR_API_TOKEN: TOKEN,
      ASR_PORT: '0',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(REJECTS)}`,
    });
    onTestFinished(() => dying.stop());
    await expect.poll(() => dying.logged(serving), { timeout: 25_000 }).toHaveLength(1);
    const before = dying.stdout.length;
    dying.kill('SIGUSR2');
    expect(await dying.exited).toEqual({ code: 1, signal: null });
    expect(JSON.parse(dying.stdout.slice(before))).toMatchObject({
      level: 60,
      process: part,
      msg: 'unhandled error: ending',
      origin: 'unhandledRejection',
      err: { type: 'RangeError', message: 'nobody awaits this' },
    });
  },
  40_000,
);
