import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CLOSE_CODE, HTTP_STATUS } from '../../../../common/errors/errors.ts';
import { packageVersion } from '../../../../common/process/package-root.ts';
import { SLOT_TTL_MS, slotHolder } from '../../../../common/slot/slot.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import type { StreamClient } from '../../../support/clients/stream-client.ts';
import { openStream, upload } from '../../../support/service/api.ts';
import { scriptedPcm } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});
afterEach(() => service.redis.client.del('{asr}:slot'));
afterAll(() => service.stop());

/** The value behind exactly this series, as Prometheus reads it. */
async function metric(series: string): Promise<number | undefined> {
  await service.api.metrics.refresh();
  const lines = (await service.api.metrics.registry.metrics()).split('\n');
  const line = lines.find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

test('what the interface can answer is there from the start, or the first of each kind is no rise to Prometheus', async () => {
  const route = 'route="/v1/audio/transcriptions"';
  const statuses = { ...HTTP_STATUS, '': 200, validation: 422, client_gone: 499, server_error: 500 };
  const errors = [...Object.keys(CLOSE_CODE), 'protocol_error'];
  for (const series of [
    ...Object.entries(statuses).map(
      ([code, status]) => `asr_http_requests_total{${route},status="${status}",code="${code}"}`,
    ),
    ...errors.map((code) => `asr_stream_sessions_total{outcome="error",code="${code}"}`),
    ...['final', 'disconnected'].map((outcome) => `asr_stream_sessions_total{outcome="${outcome}",code=""}`),
    ...['http', 'ws'].map((via) => `asr_audio_seconds_total{via="${via}"}`),
    ...['http', 'ws'].map((via) => `asr_queue_wait_seconds_count{via="${via}"}`),
    `asr_http_request_duration_seconds_count{${route}}`,
  ])
    expect(await metric(series), series).toBe(0);
});

test('the longest uploads are not beyond all buckets: 30 s for the body (408), and 60 s for the model behind it', async () => {
  for (const seconds of [30.3, 90.3])
    service.api.metrics.request({
      route: 'long',
      status: 503,
      code: 'not_ready',
      durationMs: seconds * 1000,
    });
  const within = (bound: number) =>
    metric(`asr_http_request_duration_seconds_bucket{le="${bound}",route="long"}`);
  expect([await within(30), await within(60), await within(100)]).toEqual([0, 1, 2]);
});

test('audio counts when it was recognized to its end, and how long the model took for an upload', async () => {
  const route = 'route="/v1/audio/transcriptions"';
  const gate = service.inference.recognizer.hold();
  const first = upload(service.api.origin, wavFile(scriptedPcm(1.25)));
  await gate.entered;
  expect((await upload(service.api.origin, wavFile(scriptedPcm(2)))).status).toBe(409);
  gate.release();
  const { body } = await first;
  await service.api.logged(
    (line) => line['outcome'] === 'done' && line['route'] === '/v1/audio/transcriptions',
  );
  expect(await metric('asr_audio_seconds_total{via="http"}')).toBe(1.25);
  expect(await metric('asr_upload_inference_seconds_sum')).toBe(Number(body['inference_ms']) / 1000);
  expect(await metric('asr_upload_inference_seconds_count')).toBe(1);
  expect(await metric(`asr_http_requests_total{${route},status="200",code=""}`)).toBe(1);
  expect(await metric(`asr_http_request_duration_seconds_count{${route}}`)).toBe(2);
  const { durationMs, queueMs } = await service.api.logged(
    (line) => line['outcome'] === 'done' && line['status'] === 200,
  );
  expect(await metric('asr_queue_wait_seconds_count{via="http"}')).toBe(1);
  expect(await metric('asr_queue_wait_seconds_sum{via="http"}')).toBe(Number(queueMs) / 1000);
  expect(Number(queueMs)).toBeGreaterThan(0);
  expect(Number(queueMs) + Number(body['inference_ms'])).toBeLessThan(Number(durationMs) + 0.1);
  const answered = Number(await metric(`asr_http_request_duration_seconds_sum{${route}}`));
  expect(answered).toBeGreaterThan(Number(durationMs) / 1000);
  expect(await metric(`asr_http_requests_total{${route},status="409",code="busy"}`)).toBe(1);
});

test('of two streams the one that has its final counts', async () => {
  for (const finish of [
    (client: StreamClient) => client.end(),
    (client: StreamClient) => client.text('no JSON'),
  ]) {
    const client = await openStream(service.api.wsUrl);
    client.send(scriptedPcm(0.6));
    await client.message('partial');
    finish(client);
    await client.closed();
  }
  await service.api.logged((line) => line['code'] === 'invalid_message');
  expect(await metric('asr_audio_seconds_total{via="ws"}')).toBe(0.6);
  const { finalizeMs, firstPartialMs, queueMs } = await service.api.logged(
    (line) => line['outcome'] === 'final',
  );
  expect(await metric('asr_stream_finalize_seconds_sum')).toBe(Number(finalizeMs) / 1000);
  expect(await metric('asr_stream_finalize_seconds_count')).toBe(1);
  // Of a stream that fails later, too.
  for (const name of ['asr_stream_first_partial_seconds_count', 'asr_queue_wait_seconds_count{via="ws"}'])
    expect(await metric(name), name).toBe(2);
  expect(Number(firstPartialMs)).toBeGreaterThan(0);
  expect(await metric('asr_stream_first_partial_seconds_sum')).toBeGreaterThan(Number(firstPartialMs) / 1000);
  expect(await metric('asr_queue_wait_seconds_sum{via="ws"}')).toBeGreaterThan(Number(queueMs) / 1000);
  expect(await metric('asr_stream_sessions_total{outcome="final",code=""}')).toBe(1);
  expect(await metric('asr_stream_sessions_total{outcome="error",code="invalid_message"}')).toBe(1);
  expect(await metric('asr_stream_takeovers_total')).toBe(0);
});

test('a stream that another inference process goes on with is a takeover', async () => {
  const client = await openStream(service.api.wsUrl);
  const { session_id: id } = await client.message('ready');
  await service.redis.client.xadd(`{asr}:session:${id}:results`, '*', 'kind', 'claimed', 'by', 'another');
  client.end();
  await client.message('final');
  await service.api.logged((line) => line['sessionId'] === id && line['outcome'] === 'final');
  expect(await metric('asr_stream_takeovers_total')).toBeGreaterThan(0);
});

test('of several inference processes those with a model count, and each says what it is and since when', async () => {
  for (const state of ['loading', 'draining'] as const)
    await service.api.services.readiness.beat({ id: state, host: 'host', pid: 1, state });
  expect(await metric('asr_inference_ready')).toBe(1);
  const { id } = service.inference.inference;
  const said = `process="${id}",state="ready",model="scripted",family="zipformer2-ctc",provider="cpu",version="${packageVersion()}"`;
  expect(await metric(`asr_inference_info{${said}}`)).toBe(1);
  const silent = 'process="loading",state="loading",model="",family="",provider="",version=""';
  expect(await metric(`asr_inference_info{${silent}}`)).toBe(1);

  await service.redis.client.pexpire('{asr}:inference:loading', 500);
  const age = Number(await metric('asr_inference_heartbeat_age_seconds{process="loading"}'));
  expect(age).toBeGreaterThanOrEqual(2.5);
  expect(age).toBeLessThanOrEqual(3);
  await service.redis.client.del('{asr}:inference:loading');
  expect(await metric('asr_inference_heartbeat_age_seconds{process="loading"}')).toBeUndefined();
  expect(await metric(`asr_inference_info{${silent}}`)).toBeUndefined();
});

test('the backlog of the active stream is what has come in and is in no update yet', async () => {
  const backlog = () => metric('asr_stream_backlog_seconds');
  expect(await backlog()).toBe(0);
  const client = await openStream(service.api.wsUrl);
  client.audio(scriptedPcm(0.1));
  await expect.poll(backlog).toBe(0.1);
  const gate = service.inference.recognizer.hold();
  client.send(scriptedPcm(0.8));
  await gate.entered;
  await expect.poll(backlog).toBe(0.4);
  gate.release();
  client.end();
  await client.message('final');
  expect(await backlog()).toBe(0);
});

test('model calls are counted with the audio that was new in them, where the model is', async () => {
  const said = async (): Promise<Map<string, number>> => {
    const text = await service.inference.inference.metrics.registry.metrics();
    return new Map(
      Array.from(text.matchAll(/^(asr_model_\S+) (\S+)$/gm), ([, name = '', value]) => [name, Number(value)]),
    );
  };
  const before = await said();
  await upload(service.api.origin, wavFile(scriptedPcm(1.25)));
  const client = await openStream(service.api.wsUrl);
  client.send(scriptedPcm(0.6));
  await client.message('partial');
  client.end();
  await client.message('final');
  const after = await said();
  const rise = (name: string) => Number(((after.get(name) ?? 0) - (before.get(name) ?? 0)).toFixed(3));
  const calls = ['upload', 'update', 'final'];
  expect(calls.map((call) => rise(`asr_model_audio_seconds_total{call="${call}"}`))).toEqual([
    1.25, 0.5, 0.1,
  ]);
  expect(calls.map((call) => rise(`asr_model_call_duration_seconds_count{call="${call}"}`))).toEqual([
    1, 1, 1,
  ]);
  expect(after.get('asr_model_info{model="scripted",family="zipformer2-ctc",provider="cpu"}')).toBe(1);
});

test('the slot: free, taken for a while, by a replica whose clock is an hour behind, in a Redis whose clock was set back, and by a stranger', async () => {
  const slotMetrics = async () => [await metric('asr_slot_busy'), await metric('asr_slot_age_seconds')];
  expect(await slotMetrics()).toEqual([0, 0]);

  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
  await service.api.services.slot.acquire(
    slotHolder({ id: 'a', via: 'http', replica: 'b:1', since: anHourAgo }),
  );
  const [, ageOfBehind = 0] = await slotMetrics();
  expect(ageOfBehind).toBeLessThan(SLOT_TTL_MS / 1_000);

  const [seconds = 0] = await service.redis.client.time();
  await service.redis.client.set('{asr}:fence', (Number(seconds) - 90) * 1_000_000);
  const [busy, age = 0] = await slotMetrics();
  expect(busy).toBe(1);
  expect(age).toBeGreaterThanOrEqual(89);
  expect(age).toBeLessThan(120);

  await service.redis.client.set('{asr}:fence', (Number(seconds) + 90) * 1_000_000);
  expect(await slotMetrics()).toEqual([1, 0]);

  await service.redis.client.del('{asr}:fence');
  await service.redis.client.set('{asr}:slot', 'a stranger');
  expect(await slotMetrics()).toEqual([1, 0]);
});
