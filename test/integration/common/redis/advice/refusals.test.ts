import { expect, onTestFinished, test } from 'vitest';
import { parseRedisUrl } from '../../../../../common/config/redis-url.ts';
import { isRefusal, reasonOf, remedyFor } from '../../../../../common/redis/advice/remedies.ts';
import type { RedisClient } from '../../../../../common/redis/client.ts';
import { closeRedis, connectRedis, whenReady } from '../../../../../common/redis/connection.ts';
import { fromStore } from '../../../../../common/store/store.ts';
import { freePort } from '../../../../../launch/supervisor/ports.ts';
import { startRedis } from '../../../../support/redis/redis.ts';

/** What real servers answer, and what is to be done about it. */

function connect(url: string, onError: (error: Error) => void): RedisClient {
  const client = connectRedis(parseRedisUrl(url), 'commands', 'test', onError);
  onTestFinished(() => closeRedis(client));
  return client;
}

const PASSWORD = ['--requirepass', 'right'];

test.each<[string, string[], (port: number) => string | Promise<string>, string]>([
  ['a missing password', PASSWORD, (port) => `redis://127.0.0.1:${port}`, 'correct user and password'],
  ['a wrong one', PASSWORD, (port) => `redis://:wrong@127.0.0.1:${port}`, 'correct user and password'],
  [
    'a wrong one of a Cluster',
    PASSWORD,
    (port) => `redis+cluster://:wrong@127.0.0.1:${port}`,
    'correct user and password',
  ],
  ['a database that is not there', [], (port) => `redis://127.0.0.1:${port}/99`, 'name a database'],
  ['a Redis that is no Cluster', [], (port) => `redis+cluster://127.0.0.1:${port}`, 'as no Cluster'],
  ['one that is no Sentinel', [], (port) => `redis+sentinel://127.0.0.1:${port}/asr`, 'name Sentinels'],
  // The test's own client, too, would wait for an answer to INFO.
  [
    'one without INFO',
    [...PASSWORD, '--rename-command', 'INFO', ''],
    (port) => `redis://:right@127.0.0.1:${port}`,
    'rename-command',
  ],
  // The test's own client is the one. Whether Redis's answer is heard before it hangs up is chance.
  ['maxclients', ['--maxclients', '1'], (port) => `redis://127.0.0.1:${port}`, 'maxclients'],
  ['nobody', [], async () => `redis://127.0.0.1:${await freePort()}`, 'start it'],
])('a connection to %s', async (_, serverArgs, urlOf, todo) => {
  const redis = await startRedis(serverArgs);
  onTestFinished(() => redis.stop());
  const url = await urlOf(redis.port);
  const error = await new Promise<Error>((resolve) => void connect(url, resolve));
  expect(remedyFor(reasonOf(error))).toContain(todo);
});

const set = (client: RedisClient): Promise<unknown> => client.set('{asr}:any', '1');
const script = (client: RedisClient): Promise<unknown> => client.eval("return redis.call('TIME')", 0);

test.each<[string, string[], (client: RedisClient) => Promise<unknown>, string]>([
  ['a full Redis', ['--maxmemory', '1'], set, 'raise its maxmemory'],
  ['a replica', ['--replicaof', '127.0.0.1', '1'], set, 'lead to the master'],
  ['one without its replicas', ['--min-replicas-to-write', '1'], set, 'min-replicas-to-write'],
  [
    'a user with few rights',
    ['--user', ...'default on nopass ~* +@all -set'.split(' ')],
    set,
    'every command',
  ],
  ['one without EVAL', ['--rename-command', 'EVAL', ''], script, 'rename-command'],
  ['one without TIME in a script', ['--rename-command', 'TIME', ''], script, 'rename-command'],
])('a command for %s', async (_, serverArgs, command, todo) => {
  const redis = await startRedis(serverArgs);
  onTestFinished(() => redis.stop());
  const client = connect(redis.url, () => undefined);
  expect(await whenReady(client, 10_000)).toBe(true);
  const reason = await fromStore(command(client)).then(
    () => expect.unreachable('it is carried out'),
    (error: Error) => error.message,
  );
  expect(remedyFor(reason)).toContain(todo);
  expect(isRefusal(reason)).toBe(true);
});

test('a certificate that has expired is to be renewed, not to be trusted', () => {
  // OpenSSL's words, which Node passes on.
  expect(remedyFor('certificate has expired')).toBe('renew its certificate');
});
