import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { AUTHORIZED, startApi, type TestApi, TOKEN, upload } from '../../support/api.ts';
import { startInference, type TestInference } from '../../support/inference.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { type ScriptedRecognizer, scriptedPcm, scriptedText } from '../../support/scripted-recognizer.ts';
import { StreamClient } from '../../support/stream-client.ts';
import { wavFile } from '../../support/wav.ts';

let redis: TestRedis;
let api: TestApi;
let inference: TestInference;
let recognizer: ScriptedRecognizer;
const clients: StreamClient[] = [];

beforeAll(async () => {
  redis = await startRedis();
  inference = await startInference(redis.url);
  recognizer = inference.recognizer;
  api = await startApi(redis.url);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.terminate();
  await slotFree();
  expect((await redis.keys()).filter((key) => key.includes(':session:') || key.includes(':upload:'))).toEqual(
    [],
  );
});
afterAll(async () => {
  await api.stop();
  await inference.stop();
  await redis.stop();
});

/** The slot's end is awaited through the keyspace, as an operator would see it: not as long as its TTL of 5 s, which would end one that is forgotten. */
async function slotFree(): Promise<void> {
  await expect
    .poll(() => redis.keys('{asr}:s*'), { interval: 5, timeout: 3_000 })
    .not.toContain('{asr}:slot');
}
async function connect(headers: Record<string, string> = AUTHORIZED): Promise<StreamClient> {
  const client = await StreamClient.connect(api.wsUrl, headers);
  clients.push(client);
  return client;
}
async function ready(): Promise<StreamClient> {
  const client = await connect();
  client.start();
  await client.message('ready');
  return client;
}
async function refusal(client: StreamClient): Promise<{ code: unknown; closeCode: number }> {
  const error = await client.message('error');
  expect(error).toEqual({ type: 'error', code: expect.any(String), message: expect.any(String) });
  return { code: error['code'], closeCode: await client.closed() };
}

describe('a recording', () => {
  test('ready, growing partials, one final, close 1000; and the next client can start at once', async () => {
    const pcm = scriptedPcm(1.3);
    const client = await ready();
    expect(client.received[0]).toEqual({
      type: 'ready',
      session_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      chunk_ms: 500,
    });
    for (let start = 0; start < pcm.length; start += 3_200) client.audio(pcm.subarray(start, start + 3_200));
    client.end();
    const final = await client.message('final');
    expect(await redis.client.exists('{asr}:slot')).toBe(0);
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
  });

  test('the same audio gives the same text over HTTP and however it is cut', async () => {
    const pcm = scriptedPcm(1.7, 7);
    const byHttp = await upload(api.origin, wavFile(pcm));
    expect(byHttp).toMatchObject({
      status: 200,
      body: { text: scriptedText(pcm), audio_ms: 1700, inference_ms: expect.any(Number) },
    });
    for (const frameBytes of [3_200, 1_000, 318]) {
      const client = await ready();
      for (let start = 0; start < pcm.length; start += frameBytes)
        client.audio(pcm.subarray(start, start + frameBytes));
      client.end();
      expect((await client.message('final'))['text']).toBe(scriptedText(pcm));
      await client.closed();
    }
  });

  test('end without audio: a final with empty text and 0 ms', async () => {
    const client = await ready();
    client.end();
    expect(await client.message('final')).toMatchObject({ text: '', audio_ms: 0 });
    expect(await client.closed()).toBe(1000);
  });

  test('shorter than one chunk: no partial, the final has its text', async () => {
    const pcm = scriptedPcm(0.3);
    const client = await ready();
    client.audio(pcm.subarray(0, 3_200));
    client.audio(pcm.subarray(3_200, 6_400));
    client.audio(pcm.subarray(6_400));
    client.end();
    expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm), audio_ms: 300 });
    expect(client.received.map((message) => message.type)).toEqual(['ready', 'final']);
  });

  test('silence changes no text, so there is no partial', async () => {
    const client = await ready();
    for (let frame = 0; frame < 12; frame += 1) client.audio(Buffer.alloc(3_200));
    client.end();
    await client.message('final');
    expect(client.received.map((message) => message.type)).toEqual(['ready', 'final']);
  });

  test('audio_ms is rounded: 2 bytes are 0 ms, 16 bytes 1 ms', async () => {
    for (const [bytes, audioMs] of [
      [2, 0],
      [16, 1],
      [3_200, 100],
    ] as const) {
      const client = await ready();
      client.audio(Buffer.alloc(bytes));
      client.end();
      expect((await client.message('final'))['audio_ms']).toBe(audioMs);
      await client.closed();
    }
  });
});

describe('start', () => {
  test('with api_token instead of a header', async () => {
    const client = await connect({});
    client.start({ api_token: TOKEN, extra: 'ignored' });
    expect((await client.message('ready')).type).toBe('ready');
  });
  test.each([
    ['without a token', {}],
    ['with null as token', { api_token: null }],
    ['with a wrong token', { api_token: 'wrong' }],
  ])('%s → unauthorized, 1008', async (_name, fields) => {
    const client = await connect({});
    client.start(fields);
    expect(await refusal(client)).toEqual({ code: 'unauthorized', closeCode: 1008 });
  });
  test.each(['wrong', null, 1])(
    'a right header decides alone, whatever api_token is: %s',
    async (apiToken) => {
      const client = await connect();
      client.start({ api_token: apiToken });
      await client.message('ready');
    },
  );
  test.each([
    ['sample_rate 8000', { sample_rate: 8_000 }],
    ['sample_rate as text', { sample_rate: '16000' }],
    ['no sample_rate', { sample_rate: undefined }],
    ['stereo', { channels: 2 }],
    ['no channels', { channels: undefined }],
    ['another encoding', { encoding: 'opus' }],
    ['no encoding', { encoding: undefined }],
    ['api_token as number', { api_token: 1 }, {}],
  ])('%s → invalid_message, 1008', async (_name, fields, headers: Record<string, string> = AUTHORIZED) => {
    const client = await connect(headers);
    client.start(fields);
    expect(await refusal(client)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
});

describe('busy', () => {
  test('a second stream → busy, 1008; an upload → 409; readyz says busy', async () => {
    await ready();
    const second = await connect();
    second.start();
    expect(await refusal(second)).toEqual({ code: 'busy', closeCode: 1008 });
    expect(await upload(api.origin, wavFile(scriptedPcm(0.1)))).toMatchObject({
      status: 409,
      body: { error: 'busy' },
    });
    const response = await fetch(`${api.origin}/readyz`, { headers: AUTHORIZED });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ready', busy: true });
  });
  test('an upload holds the slot against a stream, and its answer frees it', async () => {
    const gate = recognizer.hold();
    const pcm = scriptedPcm(1);
    const answer = upload(api.origin, wavFile(pcm));
    await gate.entered;
    const stream = await connect();
    stream.start();
    expect(await refusal(stream)).toEqual({ code: 'busy', closeCode: 1008 });
    gate.release();
    expect(await answer).toMatchObject({ status: 200, body: { text: scriptedText(pcm) } });
    expect(await redis.client.exists('{asr}:slot')).toBe(0);
  });
  test('after a disconnect the slot stays taken until the running model call has returned', async () => {
    const gate = recognizer.hold();
    const client = await ready();
    for (let frame = 0; frame < 5; frame += 1) client.audio(scriptedPcm(0.1, frame + 1));
    await gate.entered;
    client.terminate();
    await api.logged((line) => line['outcome'] === 'disconnected' && line['audioMs'] === 500);
    const next = await connect();
    next.start();
    expect((await refusal(next)).code).toBe('busy');
    gate.release();
    await slotFree();
  });
});

describe('order of messages → invalid_sequence, 1008', () => {
  const broken = { code: 'invalid_sequence', closeCode: 1008 };
  test('audio before start', async () => {
    const client = await connect();
    client.audio(Buffer.alloc(3_200));
    expect(await refusal(client)).toEqual(broken);
  });
  test('a frame that is wrong in itself, before start', async () => {
    const client = await connect();
    client.audio(Buffer.alloc(3));
    expect(await refusal(client)).toEqual(broken);
  });
  /** Refused while its slot is being taken: the slot comes and goes after the answer, which the next client waits for. */
  async function refusedWhileOpening(client: StreamClient, send: () => void): Promise<void> {
    const before = await redis.client.get('{asr}:fence');
    client.start();
    send();
    expect(await refusal(client)).toEqual(broken);
    await expect.poll(() => redis.client.get('{asr}:fence'), { interval: 2 }).not.toBe(before);
    await slotFree();
  }
  test('audio before ready', async () => {
    const client = await connect();
    await refusedWhileOpening(client, () => client.audio(Buffer.alloc(3_200)));
  });
  test('end before start', async () => {
    const client = await connect();
    client.end();
    expect(await refusal(client)).toEqual(broken);
  });
  test('a second start, before and after ready', async () => {
    const early = await connect();
    await refusedWhileOpening(early, () => early.start());
    const late = await ready();
    late.start();
    expect(await refusal(late)).toEqual(broken);
  });
  test('a second start whose fields are wrong too', async () => {
    const client = await ready();
    client.start({ sample_rate: 8_000 });
    expect(await refusal(client)).toEqual(broken);
  });
  test.each([
    ['audio', (client: StreamClient) => client.audio(Buffer.alloc(2))],
    ['a second end', (client: StreamClient) => client.end()],
    ['a second start', (client: StreamClient) => client.start()],
  ])('%s after end', async (_name, send) => {
    const gate = recognizer.hold();
    const client = await ready();
    client.audio(scriptedPcm(0.1));
    client.end();
    await gate.entered;
    send(client);
    expect(await refusal(client)).toEqual(broken);
    gate.release();
  });
});

describe('control messages → invalid_message, 1008', () => {
  test.each([
    ['no JSON', '{'],
    ['an empty text frame', ''],
    ['a number', '1'],
    ['null', 'null'],
    ['a list', '[]'],
    ['no type', '{}'],
    ['an unknown type', '{"type":"stop"}'],
    ['a type of the server', '{"type":"ready"}'],
    ['a type that is no text', '{"type":["start"]}'],
    ['a key of the prototype', '{"type":"__proto__"}'],
  ])('%s', async (_name, text) => {
    const client = await connect();
    client.text(text);
    expect(await refusal(client)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
  const startOf = (characters: number, filler: string) => {
    const empty = JSON.stringify({
      type: 'start',
      sample_rate: 16_000,
      channels: 1,
      encoding: 'pcm_s16le',
      note: '',
    });
    return empty.replace('"note":""', `"note":"${filler.repeat(characters - empty.length)}"`);
  };
  test.each(['x', '语', '😀'])('1,024 characters of %s are accepted, 1,025 are not', async (filler) => {
    const most = await connect();
    most.text(startOf(1_024, filler));
    await most.message('ready');
    most.close();
    await slotFree();
    const over = await connect();
    over.text(startOf(1_025, filler));
    expect(await refusal(over)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
  test('in the middle of a recording', async () => {
    const client = await ready();
    client.audio(Buffer.alloc(3_200));
    client.text('{"type":"pause"}');
    expect(await refusal(client)).toEqual({ code: 'invalid_message', closeCode: 1008 });
  });
});

describe('frames → invalid_frame, 1008', () => {
  test.each([0, 1, 3, 3_199, 3_201, 3_202, 500_000])('%i bytes', async (bytes) => {
    const client = await ready();
    client.audio(Buffer.alloc(bytes));
    expect(await refusal(client)).toEqual({ code: 'invalid_frame', closeCode: 1008 });
  });
  test('2 and 3,200 bytes are accepted', async () => {
    const client = await ready();
    client.audio(Buffer.alloc(2));
    client.audio(Buffer.alloc(3_200));
    client.end();
    expect((await client.message('final'))['audio_ms']).toBe(100);
  });
});

describe('amount of audio', () => {
  test('64,000 bytes waiting for the model are accepted, 2 more are overloaded', async () => {
    const gate = recognizer.hold();
    const client = await ready();
    for (let frame = 0; frame < 5; frame += 1) client.audio(scriptedPcm(0.1));
    // The first chunk is in a model call, so it waits no more.
    await gate.entered;
    await expect.poll(() => client.received.length, { timeout: 1_000 }).toBe(1);
    for (let frame = 0; frame < 20; frame += 1) client.audio(Buffer.alloc(3_200));
    client.audio(Buffer.alloc(2));
    const { code, closeCode } = await refusal(client);
    expect({ code, closeCode }).toEqual({ code: 'overloaded', closeCode: 1008 });
    expect((await client.message('error'))['message']).toContain('64002');
    gate.release();
  });

  test('two seconds at once in frames of 2 bytes are taken, in far fewer entries', async () => {
    const pcm = scriptedPcm(2);
    const frames = pcm.length / 2;
    const gate = recognizer.hold();
    const client = await ready();
    for (let start = 0; start < pcm.length; start += 2) client.audio(pcm.subarray(start, start + 2));
    client.end();
    await gate.entered;
    const [audio = ''] = await redis.keys('*:audio');
    const stored = async () => (await redis.client.xrevrange(audio, '+', '-', 'COUNT', 1))[0]?.[1];
    await expect.poll(stored, { timeout: 10_000 }).toEqual(['kind', 'end']);
    expect(await redis.client.xlen(audio)).toBeLessThan(frames / 10);
    gate.release();
    expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm), audio_ms: 2_000 });
    await client.closed();
  });

  test('480,000 bytes are accepted, 2 more are audio_too_long', async () => {
    const send = async (frames: number): Promise<StreamClient> => {
      const client = await ready();
      for (let frame = 1; frame <= frames; frame += 1) {
        client.audio(Buffer.alloc(3_200));
        // Never more than a second ahead of the model.
        if (frame % 10 === 0) await taken(client, frame * 3_200 - 16_000);
      }
      return client;
    };
    const exact = await send(150);
    exact.end();
    expect((await exact.message('final'))['audio_ms']).toBe(15_000);
    await exact.closed();
    const over = await send(150);
    over.audio(Buffer.alloc(2));
    expect(await refusal(over)).toEqual({ code: 'audio_too_long', closeCode: 1008 });
  });

  /** Resolves when the session's results say that this much has gone into the model. */
  async function taken(client: StreamClient, bytes: number): Promise<void> {
    const key = `{asr}:session:${client.received[0]?.['session_id']}:results`;
    await expect
      .poll(
        async () => {
          const entries = await redis.client.xrevrange(key, '+', '-', 'COUNT', 1);
          const fields = entries[0]?.[1] ?? [];
          return Number(fields[fields.indexOf('takenBytes') + 1] ?? 0);
        },
        { interval: 2 },
      )
      .toBeGreaterThanOrEqual(bytes);
  }
});

test('a failing model call → inference_failed, 1011, and the slot is free', async () => {
  recognizer.failNextCall();
  const client = await ready();
  client.audio(scriptedPcm(0.1));
  client.end();
  expect(await refusal(client)).toEqual({ code: 'inference_failed', closeCode: 1011 });
  expect(await redis.client.exists('{asr}:slot')).toBe(0);
  recognizer.failNextCall();
  expect(await upload(api.origin, wavFile(scriptedPcm(0.1)))).toMatchObject({
    status: 500,
    body: { error: 'inference_failed' },
  });
  expect(await upload(api.origin, wavFile(scriptedPcm(0.1)))).toMatchObject({ status: 200 });
});

test('a result of a form that nobody knows → inference_failed, 1011, and the log says why', async () => {
  const client = await ready();
  const sessionId = String(client.received[0]?.['session_id']);
  await redis.client.xadd(`{asr}:session:${sessionId}:results`, '*', 'kind', 'of another version');
  expect(await refusal(client)).toEqual({ code: 'inference_failed', closeCode: 1011 });
  const fault = await api.logged((line) => line['level'] === 50 && line['sessionId'] === sessionId);
  expect(fault).toMatchObject({ err: { type: 'MalformedEntry' } });
});

test('neither token nor text nor audio is in the log', async () => {
  const pcm = scriptedPcm(1, 3);
  const client = await connect({});
  client.start({ api_token: TOKEN });
  await client.message('ready');
  client.audio(pcm.subarray(0, 3_200));
  client.end();
  const final = await client.message('final');
  await upload(api.origin, wavFile(pcm));
  const line = await api.logged((entry) => entry['sessionId'] === client.received[0]?.['session_id']);
  expect(line).toMatchObject({
    outcome: 'final',
    audioMs: 100,
    finalizeMs: expect.any(Number),
    sessionMs: expect.any(Number),
  });
  const log = api.rawLog.join('') + JSON.stringify(inference.log);
  expect(log).not.toContain(TOKEN);
  expect(log).not.toContain(String(final['text']));
  expect(log).not.toContain(scriptedText(pcm));
  const upload_ = await api.logged(
    (entry) => entry['route'] === '/v1/audio/transcriptions' && entry['outcome'] === 'done',
  );
  expect(upload_).toMatchObject({
    status: 200,
    audioMs: expect.any(Number),
    inferenceMs: expect.any(Number),
    durationMs: expect.any(Number),
  });
});
