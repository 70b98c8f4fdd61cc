import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ResultFeed } from '../../../../api/slot/result-feed.ts';
import { UploadWait } from '../../../../api/uploads/upload-wait.ts';
import { createLogger } from '../../../../common/process/log.ts';
import { SLOT_TTL_MS, Slot, slotHolder } from '../../../../common/slot/slot.ts';
import { RedisKeys } from '../../../../common/store/keys.ts';
import { UPLOAD_DEADLINE_MS, UploadStore } from '../../../../common/uploads/upload-jobs.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { WAV_CASES } from '../../../support/audio/wav-cases.ts';
import type { StreamClient } from '../../../support/clients/stream-client.ts';
import { pausesSkipped } from '../../../support/machine/pauses.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { RedisMonitor } from '../../../support/redis/redis-monitor.ts';
import { openStream, startApi, type TestApi, upload } from '../../../support/service/api.ts';
import { startInference, type TestInference } from '../../../support/service/inference.ts';
import { nothingLeft } from '../../../support/service/nothing-left.ts';
import { scriptedPcm, scriptedText } from '../../../support/service/scripted-recognizer.ts';

/** How long an upload waits for its end, and what its client hears when there is none. */
let redis: TestRedis;
let api: TestApi;
const pcm = scriptedPcm(0.2);
const wav = wavFile(pcm);

beforeAll(async () => {
  redis = await startRedis();
  // Short: 60 s is what users have.
  api = await startApi(redis.url, {}, { uploadDeadlineMs: 700 });
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

async function startReadyInference(): Promise<TestInference> {
  await redis.client.flushall();
  const inference = await startInference(redis.url);
  await expect.poll(() => api.services.readiness.look()).toMatchObject({ ready: true });
  return inference;
}

test('an upload that no inference process takes is not_ready at its deadline, and leaves nothing', async () => {
  // What one that was killed leaves: its heartbeat, for up to 3 s.
  await api.services.readiness.beat({ id: 'killed', host: 'host', pid: 1, state: 'ready' });
  expect(await upload(api.origin, wav)).toMatchObject({
    status: 503,
    body: { error: 'not_ready', message: expect.stringContaining('no inference process') },
  });
  const line = await api.logged(({ level }) => level === 50);
  expect(line['msg']).toBe('no inference process is working on the recording after 0.7 s');
  await nothingLeft(redis);

  const inference = await startReadyInference();
  expect(await upload(api.origin, wav)).toMatchObject({ status: 200, body: { text: scriptedText(pcm) } });
  expect(inference.log.filter(({ msg }) => msg === 'upload')).toHaveLength(1);
  await inference.stop();
});

test('each case of the table of WAV files is heard as it is, or refused in its words', async () => {
  const inference = await startReadyInference();
  for (const { name, file, byService } of WAV_CASES) {
    const { status, body } = await upload(api.origin, file);
    if ('samples' in byService) {
      const heard = new Uint8Array(Int16Array.from(byService.samples).buffer);
      const result = { text: scriptedText(heard), audio_ms: Math.round(heard.length / 32) };
      expect({ name, status, body }).toMatchObject({ name, status: 200, body: result });
    } else {
      const refusal = { error: byService.code, message: expect.stringContaining(byService.says) };
      expect({ name, status, body }).toEqual({ name, status: 400, body: refusal });
    }
  }
  await inference.stop();
});

test('a replica whose uploads and streams are over wants nothing of Redis any more', async () => {
  const inference = await startReadyInference();
  for (const leave of [
    (client: StreamClient) => client.message('final'),
    async (client: StreamClient) => client.terminate(),
  ]) {
    const client = await openStream(api.wsUrl);
    client.end();
    await leave(client);
    await nothingLeft(redis);
  }
  await inference.stop();
  await api.services.readiness.beat({ id: 'killed', host: 'host', pid: 1, state: 'ready' });
  expect(await upload(api.origin, wav)).toMatchObject({ status: 503 });
  await nothingLeft(redis);
  const client = await openStream(api.wsUrl);
  client.close();
  await nothingLeft(redis);
  // Its own heartbeat comes once a second, as a renewal would; a read would come ten times.
  const monitor = await RedisMonitor.start(redis);
  onTestFinished(() => monitor.close());
  const wanted: string[] = [];
  monitor.on('command', ([name, ...args]) => {
    if (name !== 'time' && !args.some((arg) => arg.includes('{asr}:replica'))) wanted.push(name);
  });
  const between = async (): Promise<string[]> => {
    wanted.length = 0;
    await sleep(1_200);
    return wanted;
  };
  await expect.poll(between).toEqual([]);
});

test('an upload whose slot is found free has its end, also where that was not heard of yet', async () => {
  const [keys, log] = [new RedisKeys('{asr}'), createLogger('silent', 'api')];
  const [slot, store] = [new Slot(redis.store), new UploadStore(redis.store)];
  const elsewhere = redis.client.duplicate({ db: 1 });
  const feed = new ResultFeed(elsewhere, elsewhere, log);
  const end = { kind: 'done', text: '好', inferenceMs: 1 } as const;
  const holder = slotHolder({ id: 'ended', via: 'http', replica: 'a:1', since: '' });
  await slot.acquire(holder);
  await store.putSamples('ended', pcm);
  // Also of one that is waited for to the last moment.
  expect(await redis.client.pttl(keys.upload('ended'))).toBeGreaterThan(UPLOAD_DEADLINE_MS);
  await store.finish('ended', holder, end);
  // Another version of this program might leave out what an answer must have.
  await redis.client.xadd(keys.uploadEnd('strange'), '*', 'kind', 'done', 'text', '好');
  for (const [id, outcome] of [
    ['ended', end],
    ['lost', { kind: 'vanished' }],
    ['strange', { kind: 'failed', reason: 'an end of unknown form (kind "done")' }],
  ] as const) {
    const wait = new UploadWait(feed, store, id, 10_000);
    wait.slotLost({ kind: 'lost' });
    expect(await wait.outcome).toEqual(outcome);
  }
  for (const id of ['ended', 'strange']) await store.forget(id);
  elsewhere.disconnect();
});

test('an upload is given up when Redis was away for longer than its slot lasts', async () => {
  const [_keys, store] = [new RedisKeys('{asr}'), new UploadStore(redis.store)];
  const elsewhere = redis.client.duplicate({ db: 1 });
  const feed = new ResultFeed(elsewhere, elsewhere, createLogger('silent', 'api'));
  // Where it is waited for to its deadline, it is late.
  for (const [awayMs, outcome] of [
    [SLOT_TTL_MS, 'late'],
    [SLOT_TTL_MS + 1, 'vanished'],
  ] as const) {
    const wait = new UploadWait(feed, store, 'away', 50);
    wait.slotLost({ kind: 'store-unavailable', awayMs });
    expect(await wait.outcome).toEqual({ kind: outcome });
  }
  elsewhere.disconnect();
});

test('what begins while other work of a replica still waits is read at once, not behind it', async () => {
  const [waiting, other] = [redis.client.duplicate(), redis.client.duplicate()];
  const feed = new ResultFeed(waiting, redis.client, createLogger('silent', 'api'));
  await redis.client.xadd('begun', '*', 'kind', 'done');
  // Two at a time is what happens, one of them ending.
  const endOfSilent = feed.subscribe('silent', () => undefined);
  const heard: string[] = [];
  const read = new Promise<void>((resolve) => {
    const endOfBegun = feed.subscribe('begun', () => {
      heard.push('begun');
      endOfBegun();
      resolve();
    });
  });
  const slow = other.xread('BLOCK', 600, 'STREAMS', 'silent', '0').then(() => heard.push('a slow read'));
  await Promise.all([read, slow]);
  expect(heard).toEqual(['begun', 'a slow read']);
  endOfSilent();
  for (const client of [waiting, other]) client.disconnect();
  await redis.client.del('begun');
});

test('what has been read is not read again', async () => {
  const waiting = redis.client.duplicate();
  const feed = new ResultFeed(waiting, redis.client, createLogger('silent', 'api'));
  const heard: string[] = [];
  const end = feed.subscribe('begun', ([id]) => void heard.push(id));
  for (const count of [1, 2]) {
    await redis.client.xadd('begun', `${count}-1`, 'kind', 'progress');
    await expect.poll(() => heard.length).toBeGreaterThanOrEqual(count);
  }
  expect(heard).toEqual(['1-1', '2-1']);
  end();
  waiting.disconnect();
  await redis.client.del('begun');
});

test('results are read again soon after an outage: a stream has two seconds', async () => {
  // An outage that ends when the test says so: this user may not read yet.
  await redis.client.acl('SETUSER', 'feed', 'on', 'nopass', '~*', '+@all', '-xread');
  const [blocking, other] = [1, 2].map(() => redis.client.duplicate({ username: 'feed', password: 'any' }));
  if (blocking === undefined || other === undefined) throw new Error('there are two');
  await redis.client.xadd('begun', '*', 'kind', 'done');
  const pauses = pausesSkipped();
  const feed = new ResultFeed(blocking, other, createLogger('silent', 'api'));
  const heard = new Promise<void>((resolve) => {
    const end = feed.subscribe('begun', () => {
      end();
      resolve();
    });
  });
  await expect.poll(() => pauses.length).toBeGreaterThanOrEqual(3);
  expect(pauses.slice(0, 3).reduce((sum, ms) => sum + ms)).toBeLessThan(1_000);
  await redis.client.acl('SETUSER', 'feed', '+xread');
  await heard;
  for (const client of [blocking, other]) client.disconnect();
  await redis.client.acl('DELUSER', 'feed');
  await redis.client.del('begun');
});

test('an upload that the model is still on is inference_failed at its deadline; the slot is free when the call has ended', async () => {
  const inference = await startReadyInference();
  const gate = inference.recognizer.hold();
  const answer = upload(api.origin, wav);
  await gate.entered;
  expect(await answer).toMatchObject({
    status: 500,
    body: { error: 'inference_failed', message: expect.stringContaining('no result within 0.7 s') },
  });
  expect(await upload(api.origin, wav)).toMatchObject({ status: 409 });
  gate.release();
  // Not by its TTL. The end, which nobody reads, stays for a minute.
  await expect.poll(() => redis.keys('{asr}:slot'), { timeout: 3_000 }).toEqual([]);
  await inference.stop();
});
