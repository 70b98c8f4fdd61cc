import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { resultFields } from '../../../../common/sessions/entries.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { StreamClient } from '../../../support/clients/stream-client.ts';
import { RedisMonitor } from '../../../support/redis/redis-monitor.ts';
import { AUTHORIZED, openStream, startApi, TOKEN, upload } from '../../../support/service/api.ts';
import { scriptedPcm, scriptedText } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterEach(() => service.expectNothingLeft());
afterAll(() => service.stop());

describe('a recording', () => {
  test('ready, growing partials, one final, close 1000; and the next client can start at once', async () => {
    const pcm = scriptedPcm(1.3);
    const client = await service.ready();
    expect(client.received[0]).toEqual({
      type: 'ready',
      session_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      chunk_ms: 500,
    });
    client.send(pcm);
    client.end();
    const final = await client.message('final');
    expect(await service.redis.client.exists('{asr}:slot')).toBe(0);
    expect(final).toEqual({
      type: 'final',
      revision: expect.any(Number),
      text: scriptedText(pcm),
      audio_ms: 1300,
      finalize_ms: expect.any(Number),
    });
    expect(await client.closed()).toBe(1000);
    const partials = client.received.filter((message) => message.type === 'partial');
    expect(partials.map((partial) => partial['text'])).toEqual([
      scriptedText(pcm.subarray(0, 16_000), false),
      scriptedText(pcm.subarray(0, 32_000), false),
    ]);
    const revisions = [...partials, final].map((message) => Number(message['revision']));
    expect(revisions).toEqual([...revisions].sort((x, y) => x - y));
    expect(new Set(revisions).size).toBe(revisions.length);
    expect(client.received.at(-1)).toBe(final);
    const line = await service.api.logged(
      (entry) => entry['sessionId'] === client.received[0]?.['session_id'],
    );
    expect(line).toMatchObject({ outcome: 'final', partials: 2, takeovers: 0 });
  });

  test('a revision that comes again, as after a failover that lost the first, is not told again', async () => {
    const client = await service.ready();
    const results = `{asr}:session:${client.received[0]?.['session_id']}:results`;
    for (let frame = 0; frame < 5; frame++) client.audio(scriptedPcm(0.1));
    const { revision } = await client.message('partial');
    const again = { takenBytes: 16_000, revision: Number(revision), text: 'again' };
    await service.redis.client.xadd(results, '*', ...resultFields({ kind: 'partial', ...again }));
    client.end();
    await client.message('final');
    expect(client.received.filter((message) => message.type === 'partial')).toHaveLength(1);
    await client.closed();
  });

  test('the same audio gives the same text over HTTP and however it is cut', async () => {
    const pcm = scriptedPcm(1.7, 7);
    const byHttp = await upload(service.api.origin, wavFile(pcm));
    expect(byHttp).toMatchObject({
      status: 200,
      body: { text: scriptedText(pcm), audio_ms: 1700, inference_ms: expect.any(Number) },
    });
    for (const frameBytes of [3_200, 1_000, 318]) {
      const client = await service.ready();
      for (let start = 0; start < pcm.length; start += frameBytes)
        client.audio(pcm.subarray(start, start + frameBytes));
      client.end();
      expect((await client.message('final'))['text']).toBe(scriptedText(pcm));
      await client.closed();
    }
  });

  test('end without audio: a final with empty text and 0 ms, without a model call', async () => {
    const calls = service.recognizer.calls.length;
    const client = await service.ready();
    client.end();
    expect(await client.message('final')).toMatchObject({ revision: 1, text: '', audio_ms: 0 });
    expect(await client.closed()).toBe(1000);
    expect(service.recognizer.calls).toHaveLength(calls);
  });

  test('shorter than one chunk: no partial, the final has its text', async () => {
    const pcm = scriptedPcm(0.3);
    const client = await service.ready();
    client.audio(pcm.subarray(0, 3_200));
    client.audio(pcm.subarray(3_200, 6_400));
    client.audio(pcm.subarray(6_400));
    client.end();
    const final = { revision: 1, text: scriptedText(pcm), audio_ms: 300 };
    expect(await client.message('final')).toMatchObject(final);
    expect(client.received.map((message) => message.type)).toEqual(['ready', 'final']);
  });

  test('silence changes no text, so there is no partial', async () => {
    const client = await service.ready();
    client.send(Buffer.alloc(12 * 3_200));
    client.end();
    expect(await client.message('final')).toMatchObject({ revision: 1, text: '' });
    expect(client.received.map((message) => message.type)).toEqual(['ready', 'final']);
  });

  test('audio_ms is rounded: 2 bytes are 0 ms, 16 bytes 1 ms', async () => {
    for (const [bytes, audioMs] of [
      [2, 0],
      [16, 1],
      [3_200, 100],
    ] as const) {
      const client = await service.ready();
      client.audio(Buffer.alloc(bytes));
      client.end();
      expect((await client.message('final'))['audio_ms']).toBe(audioMs);
      await client.closed();
    }
  });
});

describe('start', () => {
  test('with api_token instead of a header', async () => {
    const client = await service.connect({});
    client.start({ api_token: TOKEN, extra: 'ignored' });
    expect((await client.message('ready')).type).toBe('ready');
  });
  test.each([
    ['without a token', {}],
    ['with null as token', { api_token: null }],
    ['with a wrong token', { api_token: 'wrong' }],
  ])('%s → unauthorized, 1008', async (_name, fields) => {
    const client = await service.connect({});
    client.start(fields);
    expect(await service.refusal(client)).toEqual({ code: 'unauthorized', closeCode: 1008 });
  });
  test.each(['wrong', null, 1])(
    'a right header decides alone, whatever api_token is: %s',
    async (apiToken) => {
      const client = await service.connect();
      client.start({ api_token: apiToken });
      await client.message('ready');
    },
  );
  test.each([
    ['sample_rate 8000', { sample_rate: 8_000 }],
    ['stereo', { channels: 2 }],
    ['another encoding', { encoding: 'opus' }],
    ['api_token as number', { api_token: 1 }, {}],
  ])('%s → invalid_message, 1008', async (_name, fields, headers: Record<string, string> = AUTHORIZED) => {
    const client = await service.connect(headers);
    client.start(fields);
    expect(await service.refusal(client)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
});

test('who is not let in does not hear whether a model is ready or the slot is taken', async () => {
  const api = await startApi(service.redis.url, { ASR_KEY_PREFIX: '{no-model}' });
  onTestFinished(() => api.stop());
  const client = await StreamClient.connect(api.wsUrl);
  client.start({ api_token: 'wrong' });
  expect(await client.message('error')).toMatchObject({ code: 'unauthorized' });
  client.terminate();
  await service.ready();
  const other = await service.connect({});
  other.start();
  expect(await service.refusal(other)).toEqual({ code: 'unauthorized', closeCode: 1008 });
});

test('without a model a start is not_ready, 1011, and takes no slot', async () => {
  const prefix = '{no-model}';
  const api = await startApi(service.redis.url, { ASR_KEY_PREFIX: prefix });
  onTestFinished(() => api.stop());
  const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
  client.start();
  expect(await client.message('error')).toMatchObject({ code: 'not_ready' });
  expect(await client.closed()).toBe(1011);
  expect(await service.redis.client.exists(`${prefix}:fence`)).toBe(0);
});

test('a final that comes a moment after its slot was seen to be free is a final', async () => {
  const api = await startApi(service.redis.url, { ASR_KEY_PREFIX: '{alone}' });
  onTestFinished(() => api.stop());
  await api.services.readiness.beat({ id: 'a', host: 'host', pid: 1, state: 'ready' });
  const client = await openStream(api.wsUrl);
  const { session_id: id } = await client.message('ready');
  const redis = service.redis.client;
  client.end();
  // Its opening and its end.
  await expect.poll(() => redis.xlen(`{alone}:session:${id}:audio`)).toBe(2);
  const monitor = await RedisMonitor.start(service.redis);
  await redis.del('{alone}:slot');
  // The next renewal, of which there is one a second, does not find it.
  await new Promise<void>((resolve) => {
    monitor.on('command', ([name, ...args]) => {
      if (name.startsWith('eval') && args.includes('{alone}:slot')) resolve();
    });
  });
  monitor.close();
  // Its answer is there before this one's.
  await fetch(`${api.origin}/readyz`, { headers: AUTHORIZED });
  const final = ['kind', 'final', 'takenBytes', 0, 'revision', 1, 'text', '好'];
  await redis.xadd(`{alone}:session:${id}:results`, '*', ...final);
  expect(await client.message('final')).toMatchObject({ text: '好' });
  await client.closed();
});

describe('busy', () => {
  test('an upload holds the slot against a stream, and its answer frees it', async () => {
    const gate = service.recognizer.hold();
    const pcm = scriptedPcm(1);
    const answer = upload(service.api.origin, wavFile(pcm));
    await gate.entered;
    const stream = await service.connect();
    stream.start();
    expect(await service.refusal(stream)).toEqual({ code: 'busy', closeCode: 1008 });
    gate.release();
    expect(await answer).toMatchObject({ status: 200, body: { text: scriptedText(pcm) } });
    expect(await service.redis.client.exists('{asr}:slot')).toBe(0);
  });
  test('after a disconnect the slot stays taken until the running model call has returned', async () => {
    const gate = service.recognizer.hold();
    const client = await service.ready();
    for (let frame = 0; frame < 5; frame += 1) client.audio(scriptedPcm(0.1, frame + 1));
    await gate.entered;
    client.terminate();
    await service.api.logged((line) => line['outcome'] === 'disconnected' && line['audioMs'] === 500);
    const next = await service.connect();
    next.start();
    expect((await service.refusal(next)).code).toBe('busy');
    gate.release();
    await service.slotFree();
  });
});

test('a failing model call → inference_failed, 1011, and the slot is free', async () => {
  service.recognizer.failNextCall();
  const client = await service.ready();
  client.audio(scriptedPcm(0.1));
  client.end();
  expect(await service.refusal(client)).toEqual({ code: 'inference_failed', closeCode: 1011 });
  expect(await service.redis.client.exists('{asr}:slot')).toBe(0);
  const { api } = service;
  const reason = 'the model failed on this recording';
  const ended = await api.logged(({ msg, code }) => msg === 'stream session' && code === 'inference_failed');
  expect(ended['reason']).toBe(reason);
  service.recognizer.failNextCall();
  expect(await upload(api.origin, wavFile(scriptedPcm(0.1)))).toMatchObject({
    status: 500,
    body: { error: 'inference_failed' },
  });
  const job = await api.logged(({ msg }) => msg === 'upload job failed');
  expect(job).toMatchObject({ level: 50, reason: expect.any(String), requestId: expect.any(String) });
  expect((await api.logged(({ status }) => status === 500))['reason']).toBe(reason);
  expect(await upload(service.api.origin, wavFile(scriptedPcm(0.1)))).toMatchObject({ status: 200 });
});

test('a result of a form that nobody knows → inference_failed, 1011, and the log says why', async () => {
  const client = await service.ready();
  const sessionId = String(client.received[0]?.['session_id']);
  await service.redis.client.xadd(`{asr}:session:${sessionId}:results`, '*', 'kind', 'of another version');
  expect(await service.refusal(client)).toEqual({ code: 'inference_failed', closeCode: 1011 });
  const fault = await service.api.logged((line) => line['level'] === 50 && line['sessionId'] === sessionId);
  expect(fault).toMatchObject({ err: { type: 'MalformedEntry' } });
});

test('compression, which the client offers, is not taken up', async () => {
  const socket = new WebSocket(service.api.wsUrl, { headers: AUTHORIZED, perMessageDeflate: true });
  await once(socket, 'open');
  expect(socket.extensions).toBe('');
  socket.terminate();
});

test('neither token nor text nor audio is in the log', async () => {
  const pcm = scriptedPcm(1, 3);
  const client = await service.connect({});
  client.start({ api_token: TOKEN });
  await client.message('ready');
  client.audio(pcm.subarray(0, 3_200));
  client.end();
  const final = await client.message('final');
  await upload(service.api.origin, wavFile(pcm));
  const line = await service.api.logged((entry) => entry['sessionId'] === client.received[0]?.['session_id']);
  expect(line).toMatchObject({
    outcome: 'final',
    audioMs: 100,
    finalizeMs: expect.any(Number),
    sessionMs: expect.any(Number),
  });
  const log = service.api.rawLog.join('') + JSON.stringify(service.inference.log);
  expect(log).not.toContain(TOKEN);
  expect(log).not.toContain(String(final['text']));
  expect(log).not.toContain(scriptedText(pcm));
  const upload_ = await service.api.logged(
    (entry) => entry['route'] === '/v1/audio/transcriptions' && entry['outcome'] === 'done',
  );
  expect(upload_).toMatchObject({
    level: 30,
    status: 200,
    audioMs: expect.any(Number),
    inferenceMs: expect.any(Number),
    durationMs: expect.any(Number),
  });
});

test('nor is a token that stands where another field should', async () => {
  const client = await service.connect({});
  client.start({ encoding: TOKEN, api_token: undefined });
  expect(await client.message('error')).toMatchObject({ message: expect.stringContaining(TOKEN) });
  await service.api.logged((line) => line['code'] === 'invalid_message');
  expect(service.api.rawLog.join('')).not.toContain(TOKEN);
});
