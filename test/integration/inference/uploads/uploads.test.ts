import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { slotHolder } from '../../../../common/slot/slot.ts';
import { eventually } from '../../../support/machine/eventually.ts';
import { startRelay } from '../../../support/machine/relay.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { RedisMonitor } from '../../../support/redis/redis-monitor.ts';
import { startInference, type TestInference } from '../../../support/service/inference.ts';
import { ScriptedProcess } from '../../../support/service/inference-process.ts';
import { scriptedPcm, scriptedText } from '../../../support/service/scripted-recognizer.ts';
import { TestUploads } from '../../../support/service/test-upload.ts';

let redis: TestRedis;
let uploads: TestUploads;

beforeAll(async () => {
  redis = await startRedis();
  uploads = await TestUploads.connect(redis);
});
afterAll(async () => {
  await uploads.close();
  await redis.stop();
});

async function expectNothingLeft(): Promise<void> {
  expect(await redis.keys('{asr}:slot')).toEqual([]);
  expect(await redis.keys('{asr}:upload:*')).toEqual([]);
}

/** Longer than an upload may take, and no longer than README says: whoever has to take it away may be dead. */
async function expectTtl(key: string): Promise<void> {
  const leftMs = await redis.client.pttl(key);
  expect(leftMs, key).toBeGreaterThan(60_000);
  expect(leftMs, key).toBeLessThanOrEqual(70_000);
}

describe('an upload', () => {
  let inference: TestInference;
  beforeAll(async () => {
    inference = await startInference(redis.url);
  });
  afterAll(async () => {
    await inference.stop();
    expect(inference.fatal).toEqual([]);
  });

  it('leaves its text and the time of the model call, and the slot free', async () => {
    const pcm = scriptedPcm(2.2);
    const { ended } = await uploads.submit(pcm);
    const end = await ended;
    expect(end).toEqual({
      kind: 'completed',
      end: { kind: 'done', text: scriptedText(pcm), inferenceMs: expect.any(Number) },
    });
    await expectNothingLeft();
  });

  it('says how many milliseconds its model call took, to the hundredth', async () => {
    inference.recognizer.onCall = () => {
      const over = performance.now() + 40;
      while (performance.now() < over);
    };
    const startedAt = performance.now();
    const { ended } = await uploads.submit(scriptedPcm(0.5));
    const end = await ended;
    inference.recognizer.onCall = () => {};
    const inferenceMs = end.kind === 'completed' && end.end?.kind === 'done' ? end.end.inferenceMs : 0;
    expect(inferenceMs).toBeGreaterThanOrEqual(40);
    expect(inferenceMs).toBeLessThan(performance.now() - startedAt);
    expect(inferenceMs).toBe(Math.round(100 * inferenceMs) / 100);
  });

  it('frees the slot before its end is known', async () => {
    const { ended, job } = await uploads.submit(scriptedPcm(0.5));
    await ended;
    expect(await uploads.slot.acquire(job.holder)).toBeGreaterThan(job.fence);
    await uploads.slot.release(job.holder);
  });

  it('keeps neither its samples nor its text in the queue or its events', async () => {
    const pcm = scriptedPcm(1);
    const { ended, job } = await uploads.submit(pcm);
    await ended;
    const stored = await redis.client.hgetall(`{asr}:uploads:${job.id}`);
    const events = await redis.client.xrange('{asr}:uploads:events', '-', '+');
    expect(stored).toEqual({});
    expect(JSON.stringify(events)).toContain(job.id);
    expect(JSON.stringify(events)).not.toContain(scriptedText(pcm).slice(0, 2));
    expect(JSON.stringify(events).length).toBeLessThan(10_000);
  });

  it('whose model call fails is a failed job with a marked reason, without samples, and the slot free', async () => {
    inference.recognizer.failNextCall();
    const { ended, job } = await uploads.submit(scriptedPcm(1));
    const reason = 'inference_failed: InferenceError: scripted failure';
    expect(await ended).toEqual({ kind: 'failed', reason });
    expect(inference.log.filter((line) => line['uploadId'] === job.id)).toMatchObject([
      { level: 50, outcome: 'failed', reason },
    ]);
    await expectNothingLeft();
    expect(inference.recognizer.openStreams).toBe(0);
    const next = await uploads.submit(scriptedPcm(1));
    expect(await next.ended).toMatchObject({ kind: 'completed' });
  });

  it('that failed can be looked at for a minute, and is gone with the next one that fails', async () => {
    const fail = async (): Promise<string> => {
      inference.recognizer.failNextCall();
      const { ended, job } = await uploads.submit(scriptedPcm(0.5));
      expect((await ended).kind).toBe('failed');
      return job.id;
    };
    const failed = (): Promise<string[]> => redis.client.zrange('{asr}:uploads:failed', 0, '-1');
    const first = await fail();
    const second = await fail();
    expect(await failed()).toEqual(expect.arrayContaining([first, second]));
    await redis.client.zincrby('{asr}:uploads:failed', -60_001, first);
    const third = await fail();
    expect(await failed()).toEqual(expect.arrayContaining([second, third]));
    expect(await failed()).not.toContain(first);
    expect(await redis.keys(`{asr}:uploads:${first}*`)).toEqual([]);
  });

  it.each([
    ['with a smaller fence than one before', 'superseded', 'superseded', async () => ({ fence: 1 })],
    ['whose slot is another holder’s', 'slot lost', undefined, async () => ({ holder: 'somebody else' })],
  ])('%s never reaches the model', async (_, outcome, told, changes) => {
    const callsBefore = inference.recognizer.calls.length;
    const { ended, job } = await uploads.submit(scriptedPcm(0.5), await changes());
    const end = told === undefined ? undefined : { kind: 'failed', reason: told };
    expect(await ended).toEqual({ kind: 'completed', end });
    expect(inference.recognizer.calls).toHaveLength(callsBefore);
    expect(inference.log.filter((line) => line['uploadId'] === job.id)).toMatchObject([{ outcome }]);
    await redis.client.del('{asr}:slot', `{asr}:upload:${job.id}`);
  });

  it('that ends when its slot is lost says nothing, and leaves no samples for a replica that may be gone', async () => {
    await uploads.store.putSamples('a', scriptedPcm(0.5));
    expect(await uploads.store.finish('a', 'nobody', { kind: 'failed', reason: 'any' })).toBe(false);
    await expectNothingLeft();
  });

  it('whose samples are gone is told so at once, and frees its slot', async () => {
    // The job of another than the samples.
    const { ended } = await uploads.submit(scriptedPcm(0.5), { id: 'another' });
    await ended;
    expect(await uploads.store.end('another')).toEqual({ kind: 'failed', reason: 'samples gone' });
    await uploads.store.forget('another');
    await expectNothingLeft();
  });

  it('is served again after one was refused, when a Redis with a clock far behind gave the fences', async () => {
    const pcm = scriptedPcm(0.5);
    const days = 3 * 86_400_000_000;
    const ahead = await uploads.submit(pcm, { fence: Date.now() * 1_000 + days });
    expect(await ahead.ended).toMatchObject({ kind: 'completed', end: { kind: 'done' } });
    const refused = await uploads.submit(pcm);
    expect(await refused.ended).toMatchObject({ end: { kind: 'failed', reason: 'superseded' } });
    const next = await uploads.submit(pcm);
    expect(await next.ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
  });

  it('that loses its slot during the model call leaves no result, and the new holder its slot', async () => {
    const gate = inference.recognizer.hold();
    const { ended, job } = await uploads.submit(scriptedPcm(0.5));
    await gate.entered;
    await redis.client.set('{asr}:slot', 'another', 'PX', 10_000);
    gate.release();
    expect(await ended).toEqual({ kind: 'completed', end: undefined });
    expect(inference.log.filter((line) => line['uploadId'] === job.id)).toMatchObject([
      { outcome: 'slot lost' },
    ]);
    expect(await redis.client.get('{asr}:slot')).toBe('another');
    await redis.client.del('{asr}:slot');
    expect(await redis.keys(`{asr}:upload:${job.id}*`)).toEqual([]);
  });

  it('can be ended in a Redis that is full', async () => {
    const gate = inference.recognizer.hold();
    const pcm = scriptedPcm(0.5);
    const { ended } = await uploads.submit(pcm);
    await gate.entered;
    await redis.client.config('SET', 'maxmemory', '1');
    try {
      gate.release();
      expect(await ended).toMatchObject({ end: { kind: 'done', text: scriptedText(pcm) } });
    } finally {
      await redis.client.config('SET', 'maxmemory', '0');
    }
    await expectNothingLeft();
  });

  it('whose end is said again, since the answer to it was lost, has been said, and once', async () => {
    const id = 'a'.repeat(32);
    const holder = slotHolder({ id, via: 'http', replica: 'test:1', since: new Date().toISOString() });
    await uploads.slot.acquire(holder);
    await uploads.store.putSamples(id, scriptedPcm(0.1));
    await expectTtl(`{asr}:upload:${id}`);
    const end = { kind: 'done', text: '好', inferenceMs: 1 } as const;
    expect(await uploads.store.finish(id, holder, end)).toBe(true);
    expect(await redis.keys(`{asr}:upload:${id}`), 'its samples').toEqual([]);
    await expectTtl(`{asr}:upload:${id}:end`);
    await uploads.slot.acquire('another' as typeof holder);
    expect(await uploads.store.finish(id, holder, end)).toBe(true);
    expect(await redis.client.get('{asr}:slot')).toBe('another');
    expect(await uploads.store.end(id)).toEqual(end);
    await uploads.store.forget(id);
    expect(await uploads.store.finish(id, holder, end)).toBe(false);
    await redis.client.del('{asr}:slot');
  });

  it('keeps its slot while the model call runs, however dead its replica', async () => {
    const gate = inference.recognizer.hold();
    const { ended } = await uploads.submit(scriptedPcm(0.5));
    await gate.entered;
    await redis.client.pexpire('{asr}:slot', 1_500);
    await eventually(async () => expect(await redis.client.pttl('{asr}:slot')).toBeGreaterThan(1_600));
    // And no longer than a dead replica may: this process may die, too.
    expect(await redis.client.pttl('{asr}:slot')).toBeLessThanOrEqual(5_000);
    gate.release();
    expect(await ended).toMatchObject({ kind: 'completed', end: { text: expect.any(String) } });
  });
});

it('an upload that was on its way to a process when that one was told to end is served by it', async () => {
  const relay = await startRelay(redis.port, 100);
  const inference = await startInference(`redis://127.0.0.1:${relay.port}`);
  const gate = inference.recognizer.hold();
  const pcm = scriptedPcm(0.8);
  const { ended } = await uploads.submit(pcm);
  await eventually(async () => expect(await redis.client.llen('{asr}:uploads:active')).toBe(1));
  const step = inference.inference.stopSteps().find(({ name }) => name === 'active recording');
  let over = false;
  const stopped = step?.run().then(() => {
    over = true;
  });
  await gate.entered;
  // Longer than the wait for the queue's own end.
  await delay(1_500);
  expect(over).toBe(false);
  gate.release();
  expect(await ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
  await stopped;
  await inference.stop();
  await relay.stop();
  await expectNothingLeft();
});

describe('an upload whose process is killed', () => {
  const processes: ScriptedProcess[] = [];
  const start = async (): Promise<ScriptedProcess> => {
    const process = await ScriptedProcess.start(redis.url);
    processes.push(process);
    return process;
  };
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((process) => process.stop()));
  });

  it('or frozen when it is told of the job, is served by a standby that looks for itself', async () => {
    const frozen = await start();
    const bullmqWaits = async (): Promise<number> =>
      String(await redis.client.client('LIST')).match(/ cmd=bzpopmin/g)?.length ?? 0;
    await expect.poll(bullmqWaits).toBe(1);
    frozen.kill('SIGSTOP');
    // Its wait began later, and so Redis gives the job's marker to the frozen one.
    await start();
    await expect.poll(bullmqWaits).toBe(2);
    const submittedAt = performance.now();
    const pcm = scriptedPcm(0.5);
    const { ended } = await uploads.submit(pcm);
    expect(await ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
    // Not after the five seconds that BullMQ's workers wait by default.
    expect(performance.now() - submittedAt).toBeLessThan(3_500);
    await expectNothingLeft();
  });

  it('twice is a failed job, and the next one is served', async () => {
    const { ended, job } = await uploads.submit(scriptedPcm(0.5));
    const renewals = setInterval(() => void uploads.slot.renew(job.holder), 500);
    const steps: string[] = [];
    const monitor = await RedisMonitor.start(redis);
    monitor.on('command', ([name, key]) => {
      if (name === 'xadd' && key === `{asr}:upload:${job.id}:end`) steps.push('told');
      if (name === 'zadd' && key === '{asr}:uploads:failed') steps.push('failed');
    });
    for (let crash = 1; crash <= 2; crash += 1) await ScriptedProcess.killedInCall(redis.url);
    await start();
    expect(await ended).toMatchObject({ kind: 'failed', reason: expect.stringContaining('stalled') });
    clearInterval(renewals);
    // The other way round nobody would tell when the process that fails it is killed on the way, or has no answer to that.
    await expect.poll(() => steps).toEqual(['told', 'failed']);
    monitor.close();
    await expectNothingLeft();
    const next = await uploads.submit(scriptedPcm(0.5));
    expect(await next.ended).toMatchObject({ kind: 'completed' });
  });

  it('by SIGTERM ends first', async () => {
    const process = await start();
    await process.hold();
    const pcm = scriptedPcm(0.9);
    const { ended } = await uploads.submit(pcm);
    await process.held();
    process.kill('SIGTERM');
    await eventually(() => expect(process.logged('shutting down')).toHaveLength(1));
    // For as long as it takes: two more heartbeats are more than a second.
    for (let beat = 1; beat <= 2; beat += 1) {
      await redis.client.del(await redis.keys('{asr}:inference:*'));
      await eventually(async () => expect(await redis.keys('{asr}:inference:*')).toHaveLength(1));
    }
    process.release();
    expect(await ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
    expect(await process.exited).toEqual({ code: 0, signal: null });
  });
});
