import { expect, onTestFinished, test } from 'vitest';
import { parseRedisUrl } from '../../../../common/config/redis-url.ts';
import { StoreUnavailable } from '../../../../common/errors/errors.ts';
import { createLogger } from '../../../../common/process/log.ts';
import { closeRedis, connectRedis, fromStore, whenReady } from '../../../../common/redis/connection.ts';
import { Outage, OutageLog } from '../../../../common/redis/outage.ts';
import type { RedisClient } from '../../../../common/redis/scripts.ts';
import { freePort } from '../../../../launch/supervisor/ports.ts';
import { startRedis } from '../../../support/redis.ts';

/** What real servers answer, and the line that is said of it. */

function connect(url: string, onError: (error: Error) => void): RedisClient {
  const client = connectRedis(parseRedisUrl(url), 'commands', 'test', onError);
  onTestFinished(() => closeRedis(client));
  return client;
}

const PASSWORD = ['--requirepass', 'right'];

test.each<[string, string[], (port: number) => string | Promise<string>, string]>([
  ['a missing password', PASSWORD, (port) => `redis://127.0.0.1:${port}`, 'wants a password'],
  ['a wrong one', PASSWORD, (port) => `redis://:wrong@127.0.0.1:${port}`, 'refuses the user or password'],
  [
    'a wrong one of a Cluster',
    PASSWORD,
    (port) => `redis+cluster://:wrong@127.0.0.1:${port}`,
    'refuses the user',
  ],
  [
    'a database that is not there',
    [],
    (port) => `redis://127.0.0.1:${port}/99`,
    'does not have the database',
  ],
  ['a Redis that is no Cluster', [], (port) => `redis+cluster://127.0.0.1:${port}`, 'is no Cluster'],
  ['one that is no Sentinel', [], (port) => `redis+sentinel://127.0.0.1:${port}/asr`, 'names a Sentinel'],
  // The test's own client, too, would wait for an answer to INFO.
  [
    'one without INFO',
    [...PASSWORD, '--rename-command', 'INFO', ''],
    (port) => `redis://:right@127.0.0.1:${port}`,
    'lacks a command',
  ],
  // The test's own client is the one. Whether Redis's answer is heard before it hangs up is chance.
  ['maxclients', ['--maxclients', '1'], (port) => `redis://127.0.0.1:${port}`, 'maxclients'],
  ['nobody', [], async () => `redis://127.0.0.1:${await freePort()}`, 'Nothing listens at its address'],
])('a connection to %s', async (_, serverArgs, urlOf, line) => {
  const redis = await startRedis(serverArgs);
  onTestFinished(() => redis.stop());
  const url = await urlOf(redis.port);
  const error = await new Promise<Error>((resolve) => void connect(url, resolve));
  expect(new Outage().heard(error)?.line).toContain(line);
});

const set = (client: RedisClient): Promise<unknown> => client.set('{asr}:any', '1');
const script = (client: RedisClient): Promise<unknown> => client.eval("return redis.call('TIME')", 0);

test.each<[string, string[], (client: RedisClient) => Promise<unknown>, string]>([
  ['a full Redis', ['--maxmemory', '1'], set, 'is full: raise its maxmemory'],
  ['a replica', ['--replicaof', '127.0.0.1', '1'], set, 'REDIS_URL must lead to the master'],
  ['one without its replicas', ['--min-replicas-to-write', '1'], set, 'min-replicas-to-write'],
  [
    'a user with few rights',
    ['--user', ...'default on nopass ~* +@all -set'.split(' ')],
    set,
    'allow it every command',
  ],
  ['one without EVAL', ['--rename-command', 'EVAL', ''], script, 'lacks a command'],
  ['one without TIME in a script', ['--rename-command', 'TIME', ''], script, 'lacks a command'],
])('a command for %s', async (_, serverArgs, command, line) => {
  const redis = await startRedis(serverArgs);
  onTestFinished(() => redis.stop());
  const client = connect(redis.url, () => undefined);
  expect(await whenReady(client, 10_000)).toBe(true);
  const lines: string[] = [];
  const outages = new OutageLog(createLogger('info', 'api', { write: (text) => void lines.push(text) }));
  const error: unknown = await fromStore(command(client)).catch((reason: unknown) => reason);
  if (!(error instanceof StoreUnavailable)) expect.unreachable('it is carried out');
  outages.failed(error);
  expect(lines.map((text) => JSON.parse(text))).toMatchObject([
    { level: 50, msg: expect.stringContaining(line) },
  ]);
});
