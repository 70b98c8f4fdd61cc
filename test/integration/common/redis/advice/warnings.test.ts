import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../../../common/process/log.ts';
import { factsOf, warningsOf, warnOfRedis } from '../../../../../common/redis/advice/warnings.ts';
import { testFolder } from '../../../../support/machine/folders.ts';
import { startRedis, type TestRedis } from '../../../../support/redis/redis.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** A client of a user who may do everything but this. */
async function without(right: string): Promise<Redis> {
  await redis.client.acl('SETUSER', 'limited', 'reset', 'on', 'nopass', '~*', '+@all', right);
  const limited = redis.client.duplicate({ username: 'limited', password: 'any' });
  onTestFinished(() => limited.disconnect());
  return limited;
}

test('a Redis says what is looked at, and there is nothing to say of one that is as it should be', async () => {
  const facts = await factsOf(redis.client);
  expect(facts.info).toMatchObject({
    redis_version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    maxmemory_policy: 'noeviction',
    used_memory: expect.stringMatching(/^\d+$/),
  });
  expect(facts.settings).toMatchObject({ save: '', appendonly: 'no', 'repl-diskless-load': 'swapdb' });
  expect(warningsOf(facts)).toEqual([]);
});

test('one that does not let its user ask for INFO is no warning, CONFIG is one with the reason', async () => {
  const { info, settings } = await factsOf(await without('-info'));
  expect([info.redis_version, settings.save]).toEqual([undefined, '']);
  expect(warningsOf(await factsOf(await without('-config')))).toEqual([
    expect.stringMatching(/^cannot tell whether .* \(CONFIG GET: NOPERM /),
  ]);
});

test('a warning is logged once, not with each connection anew', async () => {
  await redis.client.config('SET', 'save', '3600 1');
  onTestFinished(() => void redis.client.config('SET', 'save', ''));
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

test.each([
  ['swapdb', false],
  // As Redis has it of itself.
  ['disabled', true],
])(
  'a replica with repl-diskless-load %s writes to its disk: %s, and both sides are warned about',
  async (load, writes) => {
    const folder = testFolder();
    const settings = [
      '--repl-diskless-sync',
      'yes',
      '--repl-diskless-sync-delay',
      '0',
      '--repl-diskless-load',
      load,
    ];
    const master = await startRedis(settings);
    onTestFinished(() => master.stop());
    const replicaOf = ['--dir', folder, '--replicaof', '127.0.0.1', String(master.port)];
    const replica = await startRedis([...replicaOf, ...settings]);
    onTestFinished(() => replica.stop());
    await expect.poll(() => master.client.info('replication')).toContain('state=online');
    expect((await readdir(folder)).length > 0).toBe(writes);
    const warning = expect.stringContaining('--repl-diskless-load swapdb');
    for (const { client } of [master, replica])
      expect(warningsOf(await factsOf(client))).toEqual(writes ? [warning] : []);
  },
);
