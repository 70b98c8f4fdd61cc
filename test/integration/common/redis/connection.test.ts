import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { BYTES_PER_SECOND, MAX_BACKLOG_BYTES } from '../../../../common/audio/limits.ts';
import { parseRedisUrl } from '../../../../common/config/redis-url.ts';
import type { RedisClient } from '../../../../common/redis/client.ts';
import {
  type ConnectionUse,
  closeRedis,
  connectRedis,
  whenReady,
} from '../../../../common/redis/connection.ts';
import { readStreams } from '../../../../common/store/result-streams.ts';
import { startRelay } from '../../../support/machine/relay.ts';
import { startCluster, startRedis, startSentinel, type TestRedis } from '../../../support/redis/redis.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const connect = (use: ConnectionUse) =>
  connectRedis({ kind: 'single', url: redis.url }, use, 'test', () => undefined);

test.each(['commands', 'blocking', 'bullmq'] as const)(
  'a connection for %s that is told to connect anew while it connects does so',
  async (use) => {
    const client = connect(use);
    client.disconnect(true);
    expect(await whenReady(client, 10_000)).toBe(true);
    closeRedis(client);
  },
);

test('a Sentinel that stands still is not waited for: the next one is asked', async () => {
  const settings = [`monitor asr 127.0.0.1 ${redis.port} 1`];
  const [still, other] = [await startSentinel(settings), await startSentinel(settings)];
  for (const sentinel of [still, other]) onTestFinished(() => sentinel.stop());
  await still.pause();
  const target = parseRedisUrl(`redis+sentinel://127.0.0.1:${still.port},127.0.0.1:${other.port}/asr`);
  const client = connectRedis(target, 'commands', 'test', () => undefined);
  onTestFinished(() => closeRedis(client));
  expect(await whenReady(client, 10_000)).toBe(true);
});

test.each([[], ['--requirepass', 'secret']])(
  'the password of a Sentinel URL is for the master and for a Sentinel that wants it (%s)',
  async (...sentinelPassword) => {
    const master = await startRedis(['--requirepass', 'secret']);
    onTestFinished(() => master.stop());
    const settings = [`monitor asr 127.0.0.1 ${master.port} 1`, 'auth-pass asr secret'];
    const sentinel = await startSentinel(settings, sentinelPassword);
    onTestFinished(() => sentinel.stop());
    const target = parseRedisUrl(`redis+sentinel://:secret@127.0.0.1:${sentinel.port}/asr`);
    const client = connectRedis(target, 'commands', 'test', () => undefined);
    onTestFinished(() => closeRedis(client));
    expect(await whenReady(client, 10_000)).toBe(true);
    expect(await client.ping()).toBe('PONG');
  },
);

test('a reader gives up a connection on which nobody answers before two seconds of audio wait', async () => {
  const reader = connect('blocking');
  await whenReady(reader, 10_000);
  const closed = once(reader, 'close').then(() => 'closed');
  await redis.pause();
  onTestFinished(() => redis.resume());
  const read = readStreams(reader, new Map([['nothing', '$']]), 100).then(
    () => 'answered',
    () => 'given up',
  );
  const waiting = (MAX_BACKLOG_BYTES / BYTES_PER_SECOND) * 1_000;
  expect(await Promise.race([read, delay(waiting, 'overloaded')])).toBe('given up');
  // Not only the read: what is read next would wait on the same connection.
  expect(await Promise.race([closed, delay(waiting, 'kept')])).toBe('closed');
  await redis.resume();
  expect(await whenReady(reader, 10_000)).toBe(true);
  closeRedis(reader);
});

test.each([
  ['blocking', (client: RedisClient) => readStreams(client, new Map([['nothing', '$']]), 500), []],
  ['commands', (client: RedisClient) => client.ping(), 'PONG'],
] as const)(
  'what a connection for %s asks is answered by what came while its own process stood still',
  async (use, ask, answer) => {
    const client = connect(use);
    await whenReady(client, 10_000);
    let closes = 0;
    client.on('close', () => {
      closes += 1;
    });
    const asked = ask(client);
    const until = performance.now() + 1_200;
    while (performance.now() < until);
    expect(await asked).toEqual(answer);
    expect(await client.ping()).toBe('PONG');
    expect(closes).toBe(0);
    closeRedis(client);
  },
);

test('a command fails when nobody answers it within a second', async () => {
  const client = connect('commands');
  await whenReady(client, 10_000);
  await redis.pause();
  onTestFinished(() => redis.resume());
  await expect(client.ping()).rejects.toThrow('Command timed out');
  closeRedis(client);
});

/** A connection for commands with one under way that Redis does not carry out yet. */
async function withSetUnderWay() {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const target = { kind: 'single', url: own.url } as const;
  const client = connectRedis(target, 'commands', 'under-way', () => undefined);
  onTestFinished(() => closeRedis(client));
  await whenReady(client, 10_000);
  await own.client.client('PAUSE', 60_000, 'WRITE');
  const sent = client.set('sent', '1').catch(() => 'failed');
  const lines = async () => String(await own.client.client('LIST')).split('\n');
  const isSent = (line: string): boolean => / name=under-way .* cmd=set /.test(line);
  await expect.poll(async () => (await lines()).some(isSent)).toBe(true);
  const id = Number(/id=(\d+)/.exec((await lines()).find(isSent) ?? '')?.[1]);
  return { own, client, sent, id };
}

test('a command whose connection is lost is sent again at once', async () => {
  const { own, client, sent, id } = await withSetUnderWay();
  const closed = once(client, 'close');
  await own.client.client('KILL', 'ID', id);
  await own.client.client('UNPAUSE');
  await closed;
  expect(await sent).toBe('OK');
});

test('a command that fails while Redis is away is not carried out when it is back', async () => {
  const { own, client, sent } = await withSetUnderWay();
  const closed = once(client, 'close');
  await own.kill();
  await closed;
  expect(await sent).toBe('failed');
  await own.restart();
  expect(await whenReady(client, 10_000)).toBe(true);
  expect(await client.get('sent')).toBeNull();
});

test('nor is one that came while a connection was being made', async () => {
  const relay = await startRelay(redis.port);
  onTestFinished(() => relay.stop());
  const held = relay.hold();
  const target = { kind: 'single', url: `redis://127.0.0.1:${relay.port}` } as const;
  const client = connectRedis(target, 'commands', 'test', () => undefined);
  onTestFinished(() => closeRedis(client));
  await held;
  await expect(client.set('came', '1')).rejects.toThrow();
  relay.to(redis.port);
  expect(await whenReady(client, 10_000)).toBe(true);
  // What waits goes out behind the first command.
  await client.ping();
  expect(await client.get('came')).toBeNull();
});

test('what a reader waits for when its connection is lost has failed, and is not asked for again', async () => {
  const reader = connectRedis({ kind: 'single', url: redis.url }, 'blocking', 'lost', () => undefined);
  onTestFinished(() => closeRedis(reader));
  await whenReady(reader, 10_000);
  const read = reader.xread('BLOCK', 60_000, 'STREAMS', 'nothing', '$').catch(() => 'failed');
  const clients = async () => String(await redis.client.client('LIST'));
  await expect.poll(clients).toMatch(/ name=lost .* cmd=xread /);
  const id = Number(/id=(\d+) .* name=lost /.exec(await clients())?.[1]);
  await redis.client.client('KILL', 'ID', id);
  expect(await read).toBe('failed');
  // Behind a read that is asked for again this would wait.
  await whenReady(reader, 10_000);
  expect(await reader.ping()).toBe('PONG');
});

test('a Cluster gets the password of its URL; a command fails when nobody answers it within a second, too', async () => {
  const node = await startCluster();
  onTestFinished(() => node.stop());
  await node.client.config('SET', 'requirepass', 'secret');
  const target = parseRedisUrl(`redis+cluster://:secret@127.0.0.1:${node.port}`);
  const client = connectRedis(target, 'commands', 'test', () => undefined);
  onTestFinished(() => closeRedis(client));
  await expect(client.get('{asr}:one')).rejects.toThrow('enableOfflineQueue');
  expect(await whenReady(client, 10_000)).toBe(true);
  expect(await client.set('{asr}:one', '1')).toBe('OK');
  // Its connections have what a single one has.
  expect(await node.client.client('LIST')).toContain(' name=test ');
  await node.pause();
  await expect(client.get('{asr}:one')).rejects.toThrow('Command timed out');
});

test('a connection that was closed stays closed, also in the middle of connecting', async () => {
  const ready = connect('commands');
  await whenReady(ready, 10_000);
  for (const client of [ready, connect('commands')]) {
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
    closeRedis(client);
    await ended;
    expect(client.status).toBe('end');
  }
});
