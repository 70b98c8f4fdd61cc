import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { CHUNK_BYTES } from '../../../common/audio/limits.ts';
import { ReadinessStore } from '../../../common/readiness/readiness.ts';
import { eventually } from '../../support/machine/eventually.ts';
import { startRelay } from '../../support/machine/relay.ts';
import { leastUser, startRedis, type TestRedis } from '../../support/redis/redis.ts';
import { startInference, type TestInference } from '../../support/service/inference.ts';
import { scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { TestSession } from '../../support/service/test-session.ts';
import { TestUploads } from '../../support/service/test-upload.ts';

let redis: TestRedis;
let inference: TestInference;

beforeEach(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  await inference.stop();
  expect(inference.fatal).toEqual([]);
  await redis.stop();
});

async function whenReady(): Promise<void> {
  const readiness = new ReadinessStore(redis.store);
  await eventually(async () => expect((await readiness.read()).ready).toBe(true));
}

async function expectServed(): Promise<void> {
  const pcm = scriptedPcm(1.1);
  const session = await TestSession.open(redis);
  await session.send(pcm);
  await session.producer.end();
  expect(await session.until('final')).toMatchObject({ text: scriptedText(pcm) });
  await session.close();
  const uploads = await TestUploads.connect(redis);
  const { ended } = await uploads.submit(pcm);
  expect(await ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
  await uploads.close();
}

/** A figure of Redis's own, by what stands before it. */
async function statistic({ client }: TestRedis, label: string): Promise<number> {
  return Number(new RegExp(`${label}(\\d+)`).exec(await client.info('everything'))?.[1] ?? 0);
}

const outageLines = (): unknown[] =>
  inference.log.map((line) => line['msg']).filter((msg) => String(msg).startsWith('Redis is'));

const warnings = (): Record<string, unknown>[] => inference.log.filter(({ level }) => Number(level) >= 40);

it('a Redis that comes back empty is served again, and the outage is two lines in the log', async () => {
  inference = await startInference(redis.url);
  await expectServed();
  const forgotten = await TestSession.open(redis);
  await forgotten.send(scriptedPcm(0.5));
  await forgotten.until('partial');
  forgotten.stopRenewing();
  await redis.kill();
  await eventually(() => expect(outageLines()).toHaveLength(1));
  await redis.restart();
  await whenReady();
  await expectServed();
  await forgotten.close();
  expect(inference.recognizer.openStreams).toBe(0);
  expect(outageLines()).toEqual([expect.stringContaining('Redis is away'), 'Redis is back']);
});

it('a Redis that refuses the password is one line in the log, without the password', async () => {
  await redis.client.config('SET', 'requirepass', 'another-password');
  const refusals = async (): Promise<number> =>
    Number(/errorstat_WRONGPASS:count=(\d+)/.exec(await redis.client.info('errorstats'))?.[1] ?? 0);
  inference = await startInference(redis.url.replace('//', '//:given-password@'));
  await eventually(async () => expect(await refusals()).toBeGreaterThan(20));
  expect(warnings()).toMatchObject([
    {
      msg: 'Redis refuses',
      error: expect.stringContaining('WRONGPASS'),
      todo: expect.stringContaining('password in REDIS_URL'),
    },
  ]);
  expect(JSON.stringify(inference.log)).not.toContain('given-password');
  await redis.client.config('SET', 'requirepass', 'given-password');
  await whenReady();
  await eventually(() => expect(outageLines()).toEqual(['Redis is back']));
  expect(warnings()).toHaveLength(1);
});

it('a Redis that is full: one line says so and what to do, one that it works again', async () => {
  inference = await startInference(redis.url);
  await whenReady();
  await redis.client.config('SET', 'maxmemory', '1');
  const lines = (): unknown[] =>
    inference.log.filter(({ msg }) => /^Redis (refuses|works)/.test(String(msg)));
  const full = { msg: 'Redis refuses', todo: expect.stringContaining('raise its maxmemory') };
  await eventually(() => expect(lines()).toMatchObject([full]));
  await eventually(() =>
    expect(warnings()).toContainEqual(
      expect.objectContaining({ msg: 'upload queue: Redis refuses', error: expect.stringContaining('OOM') }),
    ),
  );
  expect(JSON.stringify(warnings())).not.toContain('stack');
  await redis.client.config('SET', 'maxmemory', '0');
  await eventually(() => expect(lines()).toHaveLength(2));
  expect(lines()[1]).toMatchObject({ msg: 'Redis works again' });
  await whenReady();
  await expectServed();
});

it('a recording whose last words Redis has no memory for is given up once, and nobody waits for its slot', async () => {
  inference = await startInference(redis.url);
  const session = await TestSession.open(redis);
  await session.send(scriptedPcm(0.7));
  await session.until('partial');
  const gate = inference.recognizer.hold();
  await session.producer.end();
  await gate.entered;
  await redis.client.config('SET', 'maxmemory', '1');
  gate.release();
  await eventually(async () => expect(await redis.keys('{asr}:slot')).toEqual([]));
  await eventually(() =>
    expect(inference.log.filter(({ msg }) => msg === 'session')).toMatchObject([
      { level: 50, outcome: 'store-refused', reason: expect.stringContaining('OOM') },
    ]),
  );
  expect(await redis.keys('{asr}:session:*')).toEqual([]);
  await redis.client.config('SET', 'maxmemory', '0');
  await whenReady();
  await session.close();
  await expectServed();
});

it('a recording of which Redis refuses a command for ever fails with what it said, and nobody waits for its slot', async () => {
  await redis.client.call('ACL', 'SETUSER', 'asr', 'on', '>secret', '~{asr}*', '+@all', '-xrange');
  inference = await startInference(redis.url.replace('//', '//asr:secret@'));
  const session = await TestSession.open(redis);
  expect((await session.until('failed')).message).toContain('NOPERM');
  expect(await redis.keys('{asr}:slot')).toEqual([]);
  await session.close();
});

it('a recording whose results are no stream any more is given up, and nobody waits for its slot', async () => {
  inference = await startInference(redis.url);
  const session = await TestSession.open(redis);
  const gate = inference.recognizer.hold();
  await session.send(scriptedPcm(0.7));
  await gate.entered;
  const results = `{asr}:session:${session.sessionId}:results`;
  await redis.client.multi().del(results).sadd(results, 'of somebody else').exec();
  gate.release();
  await eventually(async () => expect(await redis.keys('{asr}:slot')).toEqual([]));
  await eventually(() =>
    expect(inference.log.filter(({ msg }) => msg === 'session')).toMatchObject([
      { level: 50, outcome: 'store-refused', reason: expect.stringContaining('WRONGTYPE') },
    ]),
  );
  await session.close();
  await expectServed();
});

it('a Redis whose user may do nothing but work on the keys is served', async () => {
  inference = await startInference(await leastUser(redis));
  await whenReady();
  await expectServed();
});

it('a Redis that refuses to give jobs is asked a few times a second, and serves when it does again', async () => {
  await redis.client.call('ACL', 'SETUSER', 'asr', 'on', '>secret', '~{asr}*', '+@all', '-rpoplpush');
  inference = await startInference(redis.url.replace('//', '//asr:secret@'));
  await whenReady();
  await redis.client.config('RESETSTAT');
  const count = (name: string): Promise<number> => statistic(redis, `${name}=`);
  // One a heartbeat, which comes every second.
  const beats = (): Promise<number> => count('cmdstat_zadd:calls');
  await eventually(async () => expect(await beats()).toBeGreaterThan(2));
  const refusals = await count('errorstat_ERR:count');
  expect(refusals).toBeGreaterThan(0);
  expect(refusals / (await beats())).toBeLessThan(20);
  await redis.client.call('ACL', 'SETUSER', 'asr', '+@all');
  await expectServed();
});

it('a master that became a replica is left for the one behind the same address, and does not fill the log', async () => {
  const old = redis;
  const relay = await startRelay(old.port);
  onTestFinished(async () => {
    await relay.stop();
    await old.stop();
  });
  inference = await startInference(`redis://127.0.0.1:${relay.port}`);
  await whenReady();
  redis = await startRedis();
  await old.client.replicaof('127.0.0.1', 1);
  const refused = (line: Record<string, unknown>): boolean => String(line['error']).startsWith('READONLY');
  await eventually(() => expect(inference.log.filter(refused)).toHaveLength(1));
  // BullMQ asks for a job ten times a second.
  const asked = (): Promise<number> => statistic(old, 'cmdstat_bzpopmin:.*rejected_calls=');
  const connections = (): Promise<number> => statistic(old, 'total_connections_received:');
  const [askedBefore, connectionsBefore] = [await asked(), await connections()];
  await eventually(async () => expect(await asked()).toBeGreaterThanOrEqual(askedBefore + 10));
  expect((await connections()) - connectionsBefore).toBeLessThan(30);
  relay.to(redis.port);
  await whenReady();
  await expectServed();
  expect(warnings().length).toBeLessThan(5);
});

it('a Redis that vanishes without a word is left by all connections as soon as one knows it', async () => {
  const relay = await startRelay(redis.port);
  onTestFinished(() => relay.stop());
  inference = await startInference(`redis://127.0.0.1:${relay.port}`);
  await whenReady();
  await expectServed();
  relay.vanish(redis.port);
  await eventually(() => expect(outageLines()).toHaveLength(2));
  await expectServed();
  // BullMQ's own, which wait for 15 s.
  expect(inference.log.filter((line) => JSON.stringify(line).includes('15000ms'))).toEqual([]);
});

it('a process that starts before Redis is ready when Redis is there', async () => {
  await redis.kill();
  inference = await startInference(redis.url);
  await redis.restart();
  await whenReady();
  await expectServed();
});

it('a session outlives a Redis that does not answer for longer than its lease', async () => {
  inference = await startInference(redis.url);
  const pcm = scriptedPcm(1.7);
  const session = await TestSession.open(redis);
  await session.send(pcm.subarray(0, CHUNK_BYTES));
  await session.until('partial');
  const pausedAt = performance.now();
  await redis.pause();
  await eventually(() => expect(performance.now() - pausedAt).toBeGreaterThan(1_300));
  await redis.resume();
  await session.send(pcm.subarray(CHUNK_BYTES));
  await session.producer.end();
  expect(await session.until('final')).toMatchObject({ text: scriptedText(pcm) });
  const revisions = session.results.flatMap((entry) => ('revision' in entry ? [entry.revision] : []));
  expect(revisions).toEqual(revisions.map((_, index) => index + 1));
  await session.close();
});

it('a session outlives the end of the connection that its audio is read from', async () => {
  inference = await startInference(redis.url);
  const pcm = scriptedPcm(1.7);
  const session = await TestSession.open(redis);
  await session.send(pcm.subarray(0, CHUNK_BYTES));
  await session.until('partial');
  const reader = /^id=(\d+) .* name=asr-inference-blocking /m;
  const [, id = ''] = reader.exec(String(await redis.client.client('LIST'))) ?? [];
  expect(await redis.client.client('KILL', 'ID', id)).toBe(1);
  await session.send(pcm.subarray(CHUNK_BYTES));
  await session.producer.end();
  expect(await session.until('final')).toMatchObject({ text: scriptedText(pcm) });
  expect(session.of('failed')).toEqual([]);
  await session.close();
});

it('a job that is done while Redis is away has its result when Redis answers again', async () => {
  inference = await startInference(redis.url);
  const uploads = await TestUploads.connect(redis);
  const gate = inference.recognizer.hold();
  const pcm = scriptedPcm(1);
  const { ended } = await uploads.submit(pcm);
  await gate.entered;
  await redis.pause();
  gate.release();
  await eventually(() => expect(inference.recognizer.openStreams).toBe(0));
  await redis.resume();
  expect(await ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
  await uploads.close();
});

it('warns about a Redis that may write recordings to disk', async () => {
  await redis.client.config('SET', 'save', '3600 1');
  inference = await startInference(redis.url);
  await eventually(() => {
    const warnings = inference.log.filter((line) => line['level'] === 40).map((line) => line['msg']);
    expect(warnings).toEqual([expect.stringContaining('save "3600 1", appendonly no')]);
  });
});
