import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi, type TestApi, upload } from '../../support/api.ts';
import { startInference, type TestInference } from '../../support/inference.ts';
import { nothingLeft } from '../../support/nothing-left.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { scriptedPcm, scriptedText } from '../../support/scripted-recognizer.ts';
import { wavFile } from '../../support/wav.ts';

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
  await expect.poll(() => api.services.readiness.isReady()).toBe(true);
  return inference;
}

test('an upload that no inference process takes is not_ready at its deadline, and leaves nothing', async () => {
  // What one that was killed leaves: its heartbeat, for up to 3 s.
  await api.services.readiness.beat({ id: 'killed', host: 'host', pid: 1, state: 'ready' });
  expect(await upload(api.origin, wav)).toMatchObject({
    status: 503,
    body: { error: 'not_ready', message: expect.stringContaining('no inference process') },
  });
  await nothingLeft(redis, 1_000);

  const inference = await startReadyInference();
  expect(await upload(api.origin, wav)).toMatchObject({ status: 200, body: { text: scriptedText(pcm) } });
  expect(inference.log.filter(({ msg }) => msg === 'upload')).toHaveLength(1);
  await inference.stop();
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
  await expect.poll(() => redis.keys('{asr}:slot')).toEqual([]);
  await inference.stop();
});
