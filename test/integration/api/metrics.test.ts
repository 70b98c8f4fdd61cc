import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CLOSE_CODE, HTTP_STATUS } from '../../../common/errors/errors.ts';
import { SLOT_TTL_MS, slotHolder } from '../../../common/slot/slot.ts';
import { AUTHORIZED, startApi, type TestApi, upload } from '../../support/api.ts';
import { startInference, type TestInference } from '../../support/inference.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { scriptedPcm } from '../../support/scripted-recognizer.ts';
import { StreamClient } from '../../support/stream-client.ts';
import { wavFile } from '../../support/wav.ts';

let redis: TestRedis;
let api: TestApi;
let inference: TestInference;

beforeAll(async () => {
  redis = await startRedis();
  inference = await startInference(redis.url);
  api = await startApi(redis.url);
});
afterEach(() => redis.client.del('{asr}:slot'));
afterAll(async () => {
  await api.stop();
  await inference.stop();
  await redis.stop();
});

/** The value behind exactly this series, as Prometheus reads it. */
async function metric(series: string): Promise<number | undefined> {
  await api.metrics.refresh();
  const lines = (await api.metrics.registry.metrics()).split('\n');
  const line = lines.find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

test('what the interface can answer is there from the start, or the first of each kind is no rise to Prometheus', async () => {
  const route = 'route="/v1/audio/transcriptions"';
  const answers = [
    'status="200",code=""',
    'status="422",code="validation"',
    'status="499",code="client_gone"',
    'status="500",code="server_error"',
  ];
  for (const [code, status] of Object.entries(HTTP_STATUS)) answers.push(`status="${status}",code="${code}"`);
  const sessions = [...Object.keys(CLOSE_CODE), 'protocol_error'].map(
    (code) => `outcome="error",code="${code}"`,
  );
  sessions.push('outcome="final",code=""', 'outcome="disconnected",code=""');
  const series = [
    ...answers.map((labels) => `asr_http_requests_total{${route},${labels}}`),
    ...sessions.map((labels) => `asr_stream_sessions_total{${labels}}`),
    'asr_audio_seconds_total{via="http"}',
    'asr_audio_seconds_total{via="ws"}',
    `asr_http_request_duration_seconds_count{${route}}`,
  ];
  for (const one of series) expect(await metric(one), one).toBe(0);
});

test('the longest uploads are not beyond all buckets: 30 s for the body (408), and 60 s for the model behind it', async () => {
  for (const seconds of [30.3, 90.3])
    api.metrics.request({ route: 'long', status: 503, code: 'not_ready', durationMs: seconds * 1000 });
  const within = (bound: number) =>
    metric(`asr_http_request_duration_seconds_bucket{le="${bound}",route="long"}`);
  expect([await within(30), await within(60), await within(100)]).toEqual([0, 1, 2]);
});

test('audio counts when it was recognized to its end, and how long the model took for an upload', async () => {
  const route = 'route="/v1/audio/transcriptions"';
  const gate = inference.recognizer.hold();
  const first = upload(api.origin, wavFile(scriptedPcm(1.25)));
  await gate.entered;
  expect((await upload(api.origin, wavFile(scriptedPcm(2)))).status).toBe(409);
  gate.release();
  const { body } = await first;
  await api.logged((line) => line['outcome'] === 'done' && line['route'] === '/v1/audio/transcriptions');
  expect(await metric('asr_audio_seconds_total{via="http"}')).toBe(1.25);
  expect(await metric('asr_upload_inference_seconds_sum')).toBe(Number(body['inference_ms']) / 1000);
  expect(await metric('asr_upload_inference_seconds_count')).toBe(1);
  expect(await metric(`asr_http_requests_total{${route},status="200",code=""}`)).toBe(1);
  expect(await metric(`asr_http_request_duration_seconds_count{${route}}`)).toBe(2);
  const { durationMs } = await api.logged((line) => line['outcome'] === 'done' && line['status'] === 200);
  const answered = Number(await metric(`asr_http_request_duration_seconds_sum{${route}}`));
  expect(answered).toBeGreaterThan(Number(durationMs) / 1000);
  expect(await metric(`asr_http_requests_total{${route},status="409",code="busy"}`)).toBe(1);
});

test('of two streams the one that has its final counts', async () => {
  for (const finish of [
    (client: StreamClient) => client.end(),
    (client: StreamClient) => client.text('no JSON'),
  ]) {
    const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
    client.start();
    await client.message('ready');
    for (let frame = 0; frame < 3; frame += 1) client.audio(scriptedPcm(0.1));
    finish(client);
    await client.closed();
  }
  await api.logged((line) => line['code'] === 'invalid_message');
  expect(await metric('asr_audio_seconds_total{via="ws"}')).toBe(0.3);
  const { finalizeMs } = await api.logged((line) => line['outcome'] === 'final');
  expect(await metric('asr_stream_finalize_seconds_sum')).toBe(Number(finalizeMs) / 1000);
  expect(await metric('asr_stream_finalize_seconds_count')).toBe(1);
  expect(await metric('asr_stream_sessions_total{outcome="final",code=""}')).toBe(1);
  expect(await metric('asr_stream_sessions_total{outcome="error",code="invalid_message"}')).toBe(1);
  expect(await metric('asr_stream_takeovers_total')).toBe(0);
});

test('a stream that another inference process goes on with is a takeover', async () => {
  const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
  client.start();
  const { session_id: id } = await client.message('ready');
  await redis.client.xadd(`{asr}:session:${id}:results`, '*', 'kind', 'claimed', 'by', 'another');
  client.end();
  await client.message('final');
  await api.logged((line) => line['sessionId'] === id && line['outcome'] === 'final');
  expect(await metric('asr_stream_takeovers_total')).toBeGreaterThan(0);
});

test('of several inference processes those with a model count', async () => {
  for (const state of ['loading', 'draining'] as const)
    await api.services.readiness.beat({ id: state, host: 'host', pid: 1, state });
  expect(await metric('asr_inference_ready')).toBe(1);
});

test('the slot: free, taken for a while, by a replica whose clock is an hour behind, in a Redis whose clock was set back, and by a stranger', async () => {
  const slotMetrics = async () => [await metric('asr_slot_busy'), await metric('asr_slot_age_seconds')];
  expect(await slotMetrics()).toEqual([0, 0]);

  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
  await api.services.slot.acquire(slotHolder({ id: 'a', via: 'http', replica: 'b:1', since: anHourAgo }));
  const [, ageOfBehind = 0] = await slotMetrics();
  expect(ageOfBehind).toBeLessThan(SLOT_TTL_MS / 1_000);

  const [seconds = 0] = await redis.client.time();
  await redis.client.set('{asr}:fence', (Number(seconds) - 90) * 1_000_000);
  const [busy, age = 0] = await slotMetrics();
  expect(busy).toBe(1);
  expect(age).toBeGreaterThanOrEqual(89);
  expect(age).toBeLessThan(120);

  await redis.client.set('{asr}:fence', (Number(seconds) + 90) * 1_000_000);
  expect(await slotMetrics()).toEqual([1, 0]);

  await redis.client.del('{asr}:fence');
  await redis.client.set('{asr}:slot', 'a stranger');
  expect(await slotMetrics()).toEqual([1, 0]);
});
