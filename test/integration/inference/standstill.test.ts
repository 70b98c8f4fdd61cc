import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, type MockInstance, onTestFinished, vi } from 'vitest';
import { SessionConsumer } from '../../../common/sessions/session-consumer.ts';
import { UPLOAD_DEADLINE_MS, UploadStore } from '../../../common/uploads/upload-jobs.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { startRedis, type TestRedis } from '../../support/redis/redis.ts';
import { openStream, startApi, type TestApi, upload } from '../../support/service/api.ts';
import { startInference, type TestInference } from '../../support/service/inference.ts';
import { nothingLeft } from '../../support/service/nothing-left.ts';
import { type Gate, scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { TestSession } from '../../support/service/test-session.ts';
import { TestUploads } from '../../support/service/test-upload.ts';

/** A process whose next model call is held, and then a standby: the first one is the one that works. */
async function pair(): Promise<{
  redis: TestRedis;
  api: TestApi;
  first: TestInference;
  gate: Gate;
  standby(): Promise<TestInference>;
}> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const api = await startApi(redis.url);
  onTestFinished(() => api.stop());
  const start = async (): Promise<TestInference> => {
    const inference = await startInference(redis.url);
    onTestFinished(() => inference.stop());
    return inference;
  };
  const first = await start();
  await expect.poll(() => api.services.readiness.look()).toMatchObject({ ready: true });
  return { redis, api, first, gate: first.recognizer.hold(), standby: start };
}

/** All looks of a standby that had work to find would be over by then. */
const LOOKS_MS = 500;

it.each(['no other process', 'a standby, which puts the stream away behind the call'])(
  'a Redis that stands still during the model call of a stream ends it, and the slot stays taken until the call has returned: %s',
  async (others) => {
    const { redis, api, gate, standby } = await pair();
    onTestFinished(() => gate.release());
    const client = await openStream(api.wsUrl);
    const { session_id } = await client.message('ready');
    for (let frame = 0; frame < 5; frame += 1) client.audio(scriptedPcm(0.1, frame));
    await gate.entered;
    const other = others === 'no other process' ? undefined : await standby();
    await redis.pause();
    expect(await client.message('error')).toMatchObject({ code: 'not_ready' });
    await redis.resume();
    // The abort has arrived, and the lease had run out.
    const audio = `{asr}:session:${session_id}:audio`;
    const isAborted = async (): Promise<boolean> =>
      JSON.stringify(await redis.client.xrevrange(audio, '+', '-', 'COUNT', 1)).includes('abort') ||
      (await redis.keys('{asr}:slot')).length === 0;
    await expect.poll(isAborted).toBe(true);
    // A standby may have just taken it, to find that there is nothing to do.
    await expect.poll(() => redis.keys('*:lease')).toEqual([]);
    if (other !== undefined) await delay(LOOKS_MS);
    expect(await redis.keys('{asr}:slot')).toEqual(['{asr}:slot']);
    expect(await upload(api.origin, wavFile(scriptedPcm(0.5)))).toMatchObject({ status: 409 });
    gate.release();
    await nothingLeft(redis);
    if (other !== undefined) expect(other.recognizer.calls).toEqual([]);
  },
);

it('a Redis that stands still during the model call of an upload: a standby that is given it too leaves it to the call', async () => {
  const { redis, api, first, gate, standby } = await pair();
  onTestFinished(() => gate.release());
  const pcm = scriptedPcm(0.9);
  const answer = upload(api.origin, wavFile(pcm));
  await gate.entered;
  const other = await standby();
  await redis.pause();
  await delay(1_400);
  await redis.resume();
  // Its lock had run out, and it was given out again: the lock that is there now is the standby's.
  const { id } = JSON.parse((await redis.client.get('{asr}:slot')) ?? '{}');
  await expect.poll(() => redis.client.hget(`{asr}:uploads:${id}`, 'stc'), { timeout: 5_000 }).toBe('1');
  await expect.poll(async () => (await redis.keys('{asr}:uploads:*:lock')).length).toBe(1);
  await delay(LOOKS_MS);
  // Once more, while the standby looks again and again.
  await redis.pause();
  await delay(1_400);
  await redis.resume();
  await delay(LOOKS_MS);
  expect(other.recognizer.calls).toEqual([]);
  expect(await redis.keys('{asr}:slot')).toEqual(['{asr}:slot']);
  gate.release();
  expect(await answer).toMatchObject({ status: 200, body: { text: scriptedText(pcm) } });
  await nothingLeft(redis);
  // The next one is served, and waits for nobody.
  expect(await upload(api.origin, wavFile(pcm))).toMatchObject({ status: 200 });
  const warnings = [...first.log, ...other.log].filter((line) => Number(line['level']) > 30);
  // The standstill may also meet what a process asks Redis at its start.
  const ofRedis = /^(Redis is away|cannot tell whether this Redis)/;
  const ofQueue = warnings.filter((line) => !ofRedis.test(String(line['msg'])));
  // One of each process; and a job that stood still twice is no failure where its upload was served.
  const outlived = { msg: expect.stringContaining('outlived its lock') };
  expect(ofQueue).toMatchObject([outlived, outlived]);
  expect(JSON.stringify(ofQueue)).not.toContain('stack');
});

it('a slot that ran out under a model call, and with it, is taken again: whoever comes is told busy', async () => {
  const { redis, api, gate } = await pair();
  onTestFinished(() => gate.release());
  const pcm = scriptedPcm(0.9);
  const answer = upload(api.origin, wavFile(pcm));
  await gate.entered;
  const holder = await redis.client.get('{asr}:slot');
  await redis.client.del('{asr}:slot', '{asr}:model-call');
  await expect.poll(() => redis.client.get('{asr}:slot'), { timeout: 900 }).toBe(holder);
  expect(await upload(api.origin, wavFile(pcm))).toMatchObject({ status: 409 });
  gate.release();
  await answer;
  await nothingLeft(redis);
});

it('a stream that is lost with the memory of Redis in its last model call is told so: its slot is not taken again', async () => {
  const { redis, api, gate } = await pair();
  onTestFinished(() => gate.release());
  const client = await openStream(api.wsUrl);
  client.audio(scriptedPcm(0.1));
  client.end();
  await gate.entered;
  await redis.client.flushall();
  await expect.poll(() => redis.keys('{asr}:model-call')).toHaveLength(1);
  expect(await redis.keys('{asr}:slot')).toEqual([]);
  gate.release();
  expect(await client.message('error')).toMatchObject({ code: 'inference_failed' });
  await nothingLeft(redis);
});

describe('work that is given out again is looked at a second time: the first look may be older than what a process in a model call has said', () => {
  async function redisWithCaller(): Promise<{ redis: TestRedis; anotherCalls(): Promise<void> }> {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    let hasBegun = false;
    return {
      redis,
      /** Behind the first look that Redis answers. */
      anotherCalls: async () => {
        if (!hasBegun) await redis.client.set('{asr}:model-call', 'another');
        hasBegun = true;
      },
    };
  }

  /** Its first look at the work sees no call; each later one sees another process in one, until `anotherReturns`. */
  async function waiting(redis: TestRedis, looks: MockInstance): Promise<TestInference> {
    onTestFinished(() => looks.mockRestore());
    const inference = await startInference(redis.url);
    onTestFinished(() => inference.stop());
    await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(2);
    expect(inference.recognizer.calls).toEqual([]);
    return inference;
  }
  const anotherReturns = (redis: TestRedis): Promise<unknown> => redis.client.del('{asr}:model-call');

  async function waitingForUpload() {
    const { redis, anotherCalls } = await redisWithCaller();
    const uploads = await TestUploads.connect(redis);
    onTestFinished(() => uploads.close());
    const pcm = scriptedPcm(0.5);
    const { job, ended } = await uploads.submit(pcm);
    await redis.client.hset(`{asr}:uploads:${job.id}`, 'stc', 1);
    const { atStart } = UploadStore.prototype;
    const looks = vi.spyOn(UploadStore.prototype, 'atStart');
    looks.mockImplementation(async function (this: UploadStore, id) {
      const first = await atStart.call(this, id);
      await anotherCalls();
      return first;
    });
    const inference = await waiting(redis, looks);
    return { redis, inference, ended, done: { end: { kind: 'done', text: scriptedText(pcm) } } };
  }

  async function waitingForStream() {
    const { redis, anotherCalls } = await redisWithCaller();
    const session = await TestSession.open(redis);
    onTestFinished(() => session.close());
    const pcm = scriptedPcm(0.5);
    await session.send(pcm);
    await session.producer.end();
    const results = `{asr}:session:${session.sessionId}:results`;
    await redis.client.xadd(results, '*', 'kind', 'claimed', 'by', 'another');
    const { claim } = SessionConsumer.prototype;
    const looks = vi.spyOn(SessionConsumer.prototype, 'claim');
    looks.mockImplementation(async function (this: SessionConsumer) {
      const isClaimed = await claim.call(this);
      await anotherCalls();
      return isClaimed;
    });
    const inference = await waiting(redis, looks);
    return { redis, inference, session, done: { text: scriptedText(pcm) } };
  }

  it('an upload', async () => {
    const { redis, ended, done } = await waitingForUpload();
    await anotherReturns(redis);
    expect(await ended).toMatchObject(done);
  });

  it('an upload is still served by a process that is told to end meanwhile: there may be no other', async () => {
    const { redis, inference, ended, done } = await waitingForUpload();
    const stopped = inference.stop();
    await expect.poll(async () => (await redis.keys('{asr}:uploads:*:lock')).length).toBe(1);
    await anotherReturns(redis);
    await stopped;
    expect(await ended).toMatchObject(done);
  });

  it('an upload for which nobody waits any more is left, and its slot to the call', async () => {
    const { redis, inference, ended } = await waitingForUpload();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + UPLOAD_DEADLINE_MS);
    onTestFinished(() => clock.mockRestore());
    const reason = 'another was in model calls for as long as anybody waits for an upload';
    expect(await ended).toEqual({ kind: 'failed', reason });
    expect(inference.recognizer.calls).toEqual([]);
    expect(await redis.keys('{asr}:slot')).toEqual(['{asr}:slot']);
  });

  it('a stream', async () => {
    const { redis, session, done } = await waitingForStream();
    await anotherReturns(redis);
    expect(await session.until('final')).toMatchObject(done);
  });

  it('a stream is left to the next process by one that is told to end meanwhile', async () => {
    const { redis, inference, session, done } = await waitingForStream();
    await inference.stop();
    await anotherReturns(redis);
    const next = await startInference(redis.url);
    onTestFinished(() => next.stop());
    expect(await session.until('final')).toMatchObject(done);
  });
});
