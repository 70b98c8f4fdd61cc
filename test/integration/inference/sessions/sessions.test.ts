import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHUNK_BYTES } from '../../../../common/audio/limits.ts';
import { eventually } from '../../../support/machine/eventually.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
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
  await inference.stop();
  // Whatever a test did, nothing of its sessions may stay behind once the process has ended.
  expect(await redis.keys('*session:*')).toEqual([]);
  expect(await redis.keys('{asr}:slot')).toEqual([]);
  await redis.client.flushall();
  expect(inference.fatal).toEqual([]);
});

describe('a session', () => {
  it('gives a partial for each half second that changes the text, then the final, and frees the slot with it', async () => {
    const pcm = scriptedPcm(1.8);
    const session = await TestSession.open(redis);
    await session.send(pcm);
    await session.producer.end();
    const final = await session.until('final');

    const chunks = [1, 2, 3].map((count) => count * CHUNK_BYTES);
    expect(session.of('partial')).toEqual(
      chunks.map((takenBytes, index) => ({
        kind: 'partial',
        takenBytes,
        revision: index + 1,
        text: scriptedText(pcm.subarray(0, takenBytes), false),
      })),
    );
    expect(final).toEqual({ kind: 'final', takenBytes: pcm.length, revision: 4, text: scriptedText(pcm) });
    expect(await redis.keys('{asr}:slot')).toEqual([]);
    await session.close();
  });

  it('stays with its process while a model call takes longer than the lease', async () => {
    const gate = inference.recognizer.hold();
    const session = await TestSession.open(redis);
    await session.send(scriptedPcm(0.5));
    await gate.entered;
    const lease = `{asr}:session:${session.sessionId}:lease`;
    await redis.client.pexpire(lease, 800);
    await eventually(async () => expect(await redis.client.pttl(lease)).toBeGreaterThan(850));
    gate.release();
    await session.producer.end();
    await session.until('final');
    expect(session.of('partial')).toHaveLength(1);
    await session.close();
  });

  it('would be taken over as soon as ever, although the clock of Redis was set back an hour', async () => {
    const session = await TestSession.open(redis);
    await session.until('claimed');
    const lease = `{asr}:session:${session.sessionId}:lease`;
    await redis.client.pexpire(lease, 3_600_000);
    await eventually(async () => expect(await redis.client.pttl(lease)).toBeLessThanOrEqual(1_000));
    await session.producer.end();
    await session.until('final');
    await session.close();
  });
});

it('finds a session whose announcement it does not see, as behind a Redis that lost its memory and whose clock went back', async () => {
  await redis.client.xadd('{asr}:sessions', '9999999999999-0', 'id', 'later');
  const reads = async () =>
    Number(/cmdstat_xread:calls=(\d+)/.exec(await redis.client.info('commandstats'))?.[1] ?? 0);
  const before = await reads();
  // Behind the read that gave this announcement one waits for what comes after it.
  await eventually(async () => expect(await reads()).toBeGreaterThan(before + 1));
  await redis.client.del('{asr}:sessions');
  const session = await TestSession.open(redis);
  await session.producer.end();
  await session.until('final');
  await session.close();
});

describe('a session that does not end well', () => {
  it('fails with the failing model call', async () => {
    inference.recognizer.failNextCall();
    const session = await TestSession.open(redis);
    await session.send(scriptedPcm(0.5));
    expect(await session.until('failed')).toEqual({ kind: 'failed', message: 'scripted failure' });
    await eventually(() =>
      expect(inference.log.filter(({ msg }) => msg === 'session')).toMatchObject([
        { level: 50, outcome: 'failed', reason: 'scripted failure' },
      ]),
    );
    expect(await redis.keys('{asr}:slot')).toEqual([]);
    await session.close();
  });

  it('fails when a frame is missing', async () => {
    const session = await TestSession.open(redis);
    await redis.client.xadd(`{asr}:session:${session.sessionId}:audio`, '2-1', 'pcm', Buffer.alloc(3_200));
    expect((await session.until('failed')).message).toContain('frame 1 is missing');
    await session.close();
  });

  it('fails when the last frame is missing', async () => {
    const session = await TestSession.open(redis);
    await session.send(scriptedPcm(0.1));
    await redis.client.xadd(`{asr}:session:${session.sessionId}:audio`, '3-1', 'kind', 'end');
    expect((await session.until('failed')).message).toContain('frame 2 is missing');
    await session.close();
  });

  it('fails when its fence is smaller than one seen before', async () => {
    const first = await TestSession.open(redis, 1_000);
    await first.producer.end();
    await first.until('final');
    await first.close();
    const second = await TestSession.open(redis, 999);
    expect((await second.until('failed')).message).toContain('began before');
    await second.close();
  });

  it('with a fence that no clock gives harms none after it', async () => {
    for (const fence of [Number.MAX_SAFE_INTEGER, undefined, undefined]) {
      const session = await TestSession.open(redis, fence);
      await session.producer.end();
      await session.until('final');
      await session.close();
    }
  });

  it('keeps the slot after an abort until the running model call has returned', async () => {
    const gate = inference.recognizer.hold();
    const session = await TestSession.open(redis);
    await session.send(scriptedPcm(1.5));
    await gate.entered;
    await session.producer.abort();
    session.stopRenewing();
    // The slot's own time would be over before the call: only the renewals of the running call keep it.
    await redis.client.pexpire('{asr}:slot', 1_500);
    await eventually(async () => expect(await redis.client.pttl('{asr}:slot')).toBeGreaterThan(1_600));
    gate.release();
    await eventually(async () => expect(await redis.keys('*session:*')).toEqual([]));
    expect(await redis.keys('{asr}:slot')).toEqual([]);
    // The audio that was there for two more calls is not recognized.
    expect(inference.recognizer.calls).toHaveLength(1);
    await session.close();
  });

  it('is dropped, keys and all, when its replica is dead and its slot over', async () => {
    const session = await TestSession.open(redis);
    await session.send(scriptedPcm(0.3));
    await session.until('claimed');
    session.stopRenewing();
    await redis.client.pexpire('{asr}:slot', 1);
    await eventually(async () => expect(await redis.keys('*session:*')).toEqual([]));
    expect(inference.recognizer.calls).toEqual([]);
    await eventually(() =>
      expect(inference.log.find((line) => line['outcome'] === 'slot-lost')).toBeDefined(),
    );
    await session.close();
  });

  it('is not fed to the model once another holder has the slot', async () => {
    const session = await TestSession.open(redis);
    await session.until('claimed');
    session.stopRenewing();
    await redis.client.set('{asr}:slot', 'another', 'PX', 5_000);
    await session.send(scriptedPcm(0.5));
    await eventually(async () => expect(await redis.keys('*session:*')).toEqual([]));
    expect(inference.recognizer.calls).toEqual([]);
    expect(await redis.client.get('{asr}:slot')).toBe('another');
    await redis.client.del('{asr}:slot');
    await session.close();
  });
});

it('logs one line a session, without its text', async () => {
  const pcm = scriptedPcm(1);
  const session = await TestSession.open(redis);
  await session.send(pcm);
  await session.producer.end();
  await session.until('final');
  await eventually(() => expect(inference.log.some((line) => line['msg'] === 'session')).toBe(true));
  const lines = inference.log.filter((line) => line['sessionId'] === session.sessionId);
  expect(lines).toMatchObject([{ outcome: 'final', audioMs: 1_000, msg: 'session' }]);
  const text = scriptedText(pcm);
  expect(JSON.stringify(inference.log)).not.toContain(text.slice(0, 1));
  await session.close();
});
