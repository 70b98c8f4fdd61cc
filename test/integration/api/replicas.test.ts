import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { wavFile } from '../../support/audio/wav.ts';
import { StreamClient } from '../../support/clients/stream-client.ts';
import { eventually } from '../../support/machine/eventually.ts';
import type { TestRedis } from '../../support/redis/redis.ts';
import {
  AUTHORIZED,
  abandonedUpload,
  openStream,
  startApi,
  type TestApi,
  upload,
} from '../../support/service/api.ts';
import { nothingLeft } from '../../support/service/nothing-left.ts';
import {
  type ScriptedRecognizer,
  scriptedPcm,
  scriptedText,
} from '../../support/service/scripted-recognizer.ts';
import { TestService } from '../../support/service/service.ts';

/** Two API replicas on one Redis are one service: nothing of the slot is local to a process. */
let service: TestService;
let redis: TestRedis;
let first: TestApi;
let second: TestApi;
let recognizer: ScriptedRecognizer;

beforeAll(async () => {
  service = await TestService.start();
  ({ redis, recognizer, api: first } = service);
  second = await startApi(redis.url);
});
afterEach(async () => {
  await nothingLeft(redis);
});
afterAll(async () => {
  await second.stop();
  await service.stop();
});

const isBusy = async (api: TestApi): Promise<unknown> => {
  const body: unknown = await (await fetch(`${api.origin}/readyz`, { headers: AUTHORIZED })).json();
  return typeof body === 'object' && body !== null && 'busy' in body ? body.busy : body;
};

test('a stream on one is busy on the other, for streams, uploads and readyz', async () => {
  const client = await openStream(first.wsUrl);
  const other = await StreamClient.connect(second.wsUrl, AUTHORIZED);
  other.start();
  expect(await other.message('error')).toMatchObject({ code: 'busy' });
  expect(await other.closed()).toBe(1008);
  expect(await upload(second.origin, wavFile(scriptedPcm(0.1)))).toMatchObject({
    status: 409,
    body: { error: 'busy' },
  });
  expect([await isBusy(first), await isBusy(second)]).toEqual([true, true]);
  client.end();
  await client.message('final');
  expect([await isBusy(first), await isBusy(second)]).toEqual([false, false]);
});

test('whose slot an operator deletes is told, and its log line says why', async () => {
  const client = await openStream(first.wsUrl);
  await redis.client.del('{asr}:slot');
  expect(await client.message('error')).toMatchObject({ code: 'inference_failed' });
  expect(await client.closed()).toBe(1011);
  expect(await first.logged((line) => line['code'] === 'inference_failed')).toMatchObject({
    msg: 'stream session',
    reason: 'the recognition slot was lost',
  });

  const gate = recognizer.hold();
  const answer = upload(first.origin, wavFile(scriptedPcm(1)));
  await gate.entered;
  await redis.client.del('{asr}:slot');
  expect(await answer).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  expect(await first.logged((line) => line['msg'] === 'Redis did not answer a request')).toMatchObject({
    reason: 'the recording was lost in an outage of Redis',
  });
  gate.release();
});

test('who has the slot is found in the logs of both kinds of process, also for an upload', async () => {
  const gate = recognizer.hold();
  const answer = upload(first.origin, wavFile(scriptedPcm(1)));
  await gate.entered;
  const { id } = JSON.parse((await redis.client.get('{asr}:slot')) ?? '{}');
  gate.release();
  await answer;
  const isEnd = (line: Record<string, unknown>) => line['requestId'] === id && line['msg'] === 'request';
  expect(await first.logged(isEnd)).toMatchObject({ status: 200 });
  await eventually(() =>
    expect(service.inference.log.filter((line) => line['uploadId'] === id)).toHaveLength(1),
  );
});

test('of many uploads at once exactly one is recognized, the others get 409; then the next one has its turn', async () => {
  const gate = recognizer.hold();
  const wav = wavFile(scriptedPcm(1));
  let refused = 0;
  let reportAllRefused = (): void => undefined;
  const allRefused = new Promise<void>((resolve) => {
    reportAllRefused = resolve;
  });
  const answers = Array.from({ length: 12 }, async (_, index) => {
    const { status } = await upload((index % 2 === 0 ? first : second).origin, wav);
    if (status === 409) refused += 1;
    if (refused === 11) reportAllRefused();
    return status;
  });
  await gate.entered;
  await allRefused;
  gate.release();
  const statuses = (await Promise.all(answers)).sort();
  expect(statuses).toEqual([200, ...Array.from({ length: 11 }, () => 409)]);
  expect(await upload(second.origin, wav)).toMatchObject({ status: 200 });
});

test('back-to-back streams on alternating replicas never meet busy', async () => {
  for (let round = 0; round < 10; round += 1) {
    const client = await StreamClient.connect((round % 2 === 0 ? first : second).wsUrl, AUTHORIZED);
    const pcm = scriptedPcm(0.6, round + 1);
    client.start();
    await client.message('ready');
    client.send(pcm);
    client.end();
    expect((await client.message('final'))['text']).toBe(scriptedText(pcm));
    await client.closed();
  }
});

describe('a replica that dies', () => {
  test('gives the slot back within 5 s, because nobody renews it, and its session leaves no key', async () => {
    const dying = await startApi(redis.url);
    const client = await openStream(dying.wsUrl);
    client.audio(scriptedPcm(0.1));
    // As with kill -9: its connections are gone and nothing is said.
    for (const step of dying.services.closing) if (step.name === 'redis') await step.run();
    const leftMs = await redis.client.pttl('{asr}:slot');
    // Below zero: it has no end, or is not there.
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(5_000);
    // Audio and results would last a minute.
    await nothingLeft(redis, 10_000);
    expect(await upload(first.origin, wavFile(scriptedPcm(0.1)))).toMatchObject({ status: 200 });
    client.terminate();
    await dying.stop().catch(() => undefined);
  });
});

test('a client that hangs up during its upload keeps the slot until its job has ended, not longer', async () => {
  const gate = await abandonedUpload(first.origin, recognizer);
  expect(await isBusy(second)).toBe(true);
  gate.release();
  // Not by the slot's TTL.
  await nothingLeft(redis);
  expect(await isBusy(second)).toBe(false);
});

test('a result is delivered also when the end of its job is not heard of: its worker had lost the lock', async () => {
  const gate = recognizer.hold();
  const pcm = scriptedPcm(1, 9);
  const answer = upload(first.origin, wavFile(pcm));
  await gate.entered;
  const [id] = await redis.client.lrange('{asr}:uploads:active', 0, 0);
  // What another process does to the job of a worker that stood still for too long.
  await redis.client.set(`{asr}:uploads:${id}:lock`, 'another worker', 'PX', 5_000);
  gate.release();
  expect(await answer).toMatchObject({ status: 200, body: { text: scriptedText(pcm) } });
});
