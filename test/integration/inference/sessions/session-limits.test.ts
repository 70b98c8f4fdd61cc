import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { CHUNK_BYTES, MAX_RECORDING_BYTES } from '../../../../common/audio/limits.ts';
import { LEASE_RENEW_MS } from '../../../../common/sessions/entries.ts';
import { eventually } from '../../../support/machine/eventually.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { RedisMonitor } from '../../../support/redis/redis-monitor.ts';
import { startInference, type TestInference } from '../../../support/service/inference.ts';
import { scriptedPcm, scriptedText } from '../../../support/service/scripted-recognizer.ts';
import { TestSession } from '../../../support/service/test-session.ts';

let redis: TestRedis;
let inference: TestInference;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
});
beforeEach(async () => {
  inference = await startInference(redis.url);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await inference.stop();
  // As in sessions.test.ts: nothing of a session stays behind once the process has ended.
  expect(await redis.keys('*session:*')).toEqual([]);
  expect(await redis.keys('{asr}:slot')).toEqual([]);
  await redis.client.flushall();
  expect(inference.fatal).toEqual([]);
});

it('claims a session again whose lease it lost while nobody spoke', async () => {
  const pcm = scriptedPcm(0.7);
  const session = await TestSession.open(redis);
  await session.send(pcm.subarray(0, CHUNK_BYTES));
  await session.until('partial');
  await redis.client.set(`{asr}:session:${session.sessionId}:lease`, 'another', 'PX', 1);
  await session.until('claimed', () => session.of('claimed').length >= 2);
  await session.send(pcm.subarray(CHUNK_BYTES));
  await session.producer.end();
  expect(await session.until('final')).toMatchObject({ revision: 2, text: scriptedText(pcm) });
  await session.close();
});

it('renews its lease no longer than it lasts', async () => {
  const set = vi.spyOn(globalThis, 'setInterval');
  const cleared = vi.spyOn(globalThis, 'clearInterval');
  const session = await TestSession.open(redis);
  await session.producer.end();
  await session.until('final');
  const renewals = set.mock.results.filter((_, call) => set.mock.calls[call]?.[1] === LEASE_RENEW_MS);
  expect(renewals).not.toEqual([]);
  await eventually(() => {
    for (const { value } of renewals) expect(cleared).toHaveBeenCalledWith(value);
  });
  await session.close();
});

it('does not wait for more audio behind the end of a recording', async () => {
  await inference.stop();
  const session = await TestSession.open(redis);
  await session.send(scriptedPcm(0.7));
  await session.producer.end();
  const reads: string[][] = [];
  const monitor = await RedisMonitor.start(redis);
  const audio = `{asr}:session:${session.sessionId}:audio`;
  monitor.on('command', (command) => {
    if (command[0] === 'xread' && command.includes(audio)) reads.push(command);
  });
  inference = await startInference(redis.url);
  await session.until('final');
  // The one that everything came with, and one before each model call.
  await eventually(() => expect(reads.length).toBeGreaterThanOrEqual(3));
  monitor.close();
  expect(reads.filter((read) => read.includes('BLOCK'))).toEqual([]);
  await session.close();
});

it('fails when a frame ends within a sample', async () => {
  const session = await TestSession.open(redis);
  await redis.client.xadd(`{asr}:session:${session.sessionId}:audio`, '1-1', 'pcm', Buffer.alloc(3));
  expect((await session.until('failed')).message).toBe('frame 1 has 3 bytes, 3 in all');
  await session.close();
});

it('fails when there is more of it than a recording may have, and not with all that it may', async () => {
  const session = await TestSession.open(redis);
  await session.send(Buffer.alloc(MAX_RECORDING_BYTES));
  await session.until('progress', ({ takenBytes }) => takenBytes === MAX_RECORDING_BYTES);
  await session.send(Buffer.alloc(2));
  expect((await session.until('failed')).message).toBe('frame 151 has 2 bytes, 480002 in all');
  await session.close();
});

it('gives no final once another holder has the slot', async () => {
  const session = await TestSession.open(redis);
  await session.send(scriptedPcm(0.3));
  await session.until('claimed');
  session.stopRenewing();
  await redis.client.set('{asr}:slot', 'another', 'PX', 5_000);
  await session.producer.end();
  await eventually(() =>
    expect(inference.log.filter(({ msg }) => msg === 'session')).toMatchObject([{ outcome: 'slot-lost' }]),
  );
  expect(await redis.keys('*session:*')).toEqual([]);
  await redis.client.del('{asr}:slot');
  await session.close();
});

it('says nothing at its end once another process has its lease, and ends when that one is gone', async () => {
  const gate = inference.recognizer.hold();
  const session = await TestSession.open(redis);
  await session.send(scriptedPcm(0.3));
  await session.producer.end();
  await gate.entered;
  const lease = `{asr}:session:${session.sessionId}:lease`;
  await redis.client.set(lease, 'another', 'PX', 5_000);
  gate.release();
  const outcomes = () => inference.log.filter(({ msg }) => msg === 'session').map(({ outcome }) => outcome);
  await eventually(() => expect(outcomes()).toEqual(['lease-lost']));
  await redis.client.del(lease);
  await session.until('final');
  expect(session.of('final')).toHaveLength(1);
  await session.close();
});

it('logs how long the model took for it, and how long of that behind its end', async () => {
  const tookMs = { accept: 30, finish: 20 };
  inference.recognizer.onCall = ({ kind }) => {
    const over = performance.now() + tookMs[kind];
    while (performance.now() < over);
  };
  const session = await TestSession.open(redis);
  await session.send(scriptedPcm(0.5));
  await session.until('partial');
  await session.producer.end();
  await session.until('final');
  const line = await eventually(() => {
    const [found] = inference.log.filter(({ sessionId }) => sessionId === session.sessionId);
    expect(found).toBeDefined();
    return found;
  });
  const [modelMs, tailModelMs] = [Number(line?.['modelMs']), Number(line?.['tailModelMs'])];
  expect(tailModelMs).toBeGreaterThanOrEqual(tookMs.finish);
  expect(modelMs - tailModelMs).toBeGreaterThan(tookMs.accept - 1);
  expect(line?.['durationMs']).toBeGreaterThanOrEqual(Math.floor(modelMs));
  await session.close();
});
