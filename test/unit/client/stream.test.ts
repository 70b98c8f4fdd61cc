import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { AudioSender } from '../../../api/client/audio-sender.ts';
import { AsrClient as BrowserClient } from '../../../api/client/browser.ts';
import { Pace } from '../../../api/client/frames.ts';
import { AsrClient, AsrError, type AsrStream, type StreamPartial } from '../../../api/client/node.ts';
import { wavFile } from '../../support/wav.ts';
import { recognizeAs, ScriptedService, type ScriptedSession } from './scripted-service.ts';

const TOKEN = 'a-token-of-the-tests';
/** 250 ms: two whole frames and a half. */
const PCM = Int16Array.from({ length: 4_000 }, (_, n) => (n % 256) * 100 - 12_800);
const PCM_BYTES = Buffer.from(PCM.buffer);
const START = { type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le' };

let service: ScriptedService;
let client: AsrClient;

beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: service.url, apiToken: TOKEN });
});
afterEach(() => service.stop());

async function partials(stream: AsrStream): Promise<StreamPartial[]> {
  const seen: StreamPartial[] = [];
  for await (const partial of stream) seen.push(partial);
  return seen;
}

async function failure(run: Promise<unknown>): Promise<AsrError> {
  const error: unknown = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AsrError)) throw new Error(`no AsrError but ${error}`);
  return error;
}

const onStart = (script: (session: ScriptedSession) => void) => (session: ScriptedSession) => {
  session.on('start', () => script(session));
};

test('a whole recording: start, frames of 3,200 bytes and a short tail, end; partials and the final text', async () => {
  service.stream = [recognizeAs('你好')];
  const stream = client.stream({ audio: PCM });
  expect(await partials(stream)).toEqual([{ revision: 1, text: '你' }]);
  expect(await stream.ready).toEqual({ session_id: 'a'.repeat(32), chunk_ms: 500 });
  expect(await stream.final).toEqual({ revision: 2, text: '你好', audio_ms: 250, finalize_ms: 1.5 });
  const [session] = service.sessions;
  expect(session?.request.url).toBe('/ws/asr');
  expect(session?.request.headers.authorization).toBe(`Bearer ${TOKEN}`);
  expect(session?.request.headers.origin).toBeUndefined();
  expect(session?.control).toEqual([START, { type: 'end' }]);
  expect(session?.frames.map((frame) => frame.length)).toEqual([3_200, 3_200, 1_600]);
  expect(session?.pcm.equals(PCM_BYTES)).toBe(true);
  expect(await session?.closed).toBe(1000);
});

test('a WAV file is converted; pieces of any size make the same frames', async () => {
  service.stream = [recognizeAs('好')];
  const stereo = Buffer.from(Int16Array.from(PCM, (sample) => sample).buffer);
  expect((await client.stream({ audio: wavFile(stereo, { channels: 2 }) }).final).audio_ms).toBe(125);

  async function* pieces() {
    for (const [from, to] of [
      [0, 1],
      [1, 1_700],
      [1_700, 1_700],
      [1_700, 4_000],
    ])
      yield PCM.slice(from, to);
  }
  await client.stream({ audio: pieces() }).final;
  expect(service.sessions[1]?.frames.map((frame) => frame.length)).toEqual([3_200, 3_200, 1_600]);
  expect(service.sessions[1]?.pcm.equals(PCM_BYTES)).toBe(true);
});

test('send and end: audio sent before ready waits for it; the caller’s buffer may be used again', async () => {
  service.stream = [recognizeAs('好')];
  const stream = client.stream();
  const buffer = PCM.slice();
  const sent = stream.send(buffer);
  buffer.fill(0);
  await sent;
  const final = stream.end();
  expect(stream.end()).toBe(final);
  expect((await final).text).toBe('好');
  expect(service.sessions[0]?.pcm.equals(PCM_BYTES)).toBe(true);
  await expect(stream.send(PCM)).rejects.toMatchObject({ code: 'invalid_sequence' });
});

test('no audio at all: only start and end', async () => {
  service.stream = [recognizeAs('')];
  expect(await client.stream().end()).toMatchObject({ text: '', audio_ms: 0 });
  expect(service.sessions[0]?.control).toEqual([START, { type: 'end' }]);
});

test('audio over 15 s is refused before it is sent, and the recording can still be ended', async () => {
  service.stream = [recognizeAs('好')];
  const stream = client.stream();
  await stream.send(PCM);
  await expect(stream.send(new Int16Array(236_001))).rejects.toMatchObject({ code: 'audio_too_long' });
  await stream.end();
  expect(service.sessions[0]?.pcm.equals(PCM_BYTES)).toBe(true);
});

test('a whole recording over 15 s does not even connect', async () => {
  const error = await failure(client.stream({ audio: new Int16Array(240_001) }).final);
  expect(error.code).toBe('audio_too_long');
  expect(service.sessions).toEqual([]);
});

test('a reader may come late, or not at all', async () => {
  service.stream = [recognizeAs('你好')];
  const stream = client.stream({ audio: PCM });
  await stream.final;
  expect(await partials(stream)).toEqual([{ revision: 1, text: '你' }]);
});

test('a message type of a later version is passed over', async () => {
  service.stream = [
    (session) => {
      recognizeAs('好')(session);
      session.on('start', () => session.say({ type: 'hint', volume: 'low' }));
    },
  ];
  expect((await client.stream({ audio: PCM }).final).text).toBe('好');
});

test.for([
  { code: 'busy', closeCode: 1008, retryable: true },
  { code: 'unauthorized', closeCode: 1008, retryable: false },
  { code: 'not_ready', closeCode: 1011, retryable: true },
  { code: 'timeout', closeCode: 1008, retryable: false },
])(
  'refused with $code: the same error everywhere, with the close code',
  async ({ code, closeCode, retryable }) => {
    service.stream = [onStart((session) => session.fail(code, closeCode))];
    const stream = client.stream({ audio: PCM });
    const error = await failure(stream.final);
    expect(error).toMatchObject({ code, closeCode, retryable, message: `told: ${code}` });
    await expect(stream.ready).rejects.toBe(error);
    await expect(partials(stream)).rejects.toBe(error);
    await expect(stream.send(PCM)).rejects.toBe(error);
    expect(service.sessions[0]?.frames).toEqual([]);
  },
);

test('overloaded in the middle: nothing is sent after the error, a pending send rejects with it', async () => {
  service.stream = [
    (session) => {
      session.on('start', () => session.ready());
      session.on('audio', () => {
        if (session.frames.length === 1)
          session.say({ type: 'error', code: 'overloaded', message: 'slower' });
        else session.say('more audio after an error');
      });
    },
  ];
  const stream = client.stream({ realTime: true });
  const sent = stream.send(new Int16Array(160_000));
  const error = await failure(sent);
  // The service said nothing more, so the client closed by itself and knows no close code.
  expect(error).toMatchObject({ code: 'overloaded', closeCode: undefined });
  await expect(stream.final).rejects.toBe(error);
  expect(service.sessions[0]?.frames.length).toBeLessThanOrEqual(2);
});

test.for([
  {
    how: 'without a word',
    end: (session: ScriptedSession) => session.socket.close(1008),
    closeCode: 1008,
    retryable: false,
  },
  {
    how: 'as the server goes away',
    end: (session: ScriptedSession) => session.socket.close(1001, 'restart'),
    closeCode: 1001,
    retryable: true,
  },
  {
    how: 'by a broken connection',
    end: (session: ScriptedSession) => session.socket.terminate(),
    closeCode: 1006,
    retryable: true,
  },
  {
    how: 'too early, with 1000',
    end: (session: ScriptedSession) => session.socket.close(1000),
    closeCode: 1000,
    retryable: true,
  },
])(
  'closed $how: the recording is incomplete, the last partial is no result',
  async ({ end, closeCode, retryable }) => {
    service.stream = [
      (session) => {
        session.on('start', () => session.ready());
        session.on('audio', () => {
          session.say({ type: 'partial', revision: 1, text: '你' });
          end(session);
        });
      },
    ];
    const stream = client.stream({ audio: PCM });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { text } of stream) seen.push(text);
    })();
    const error = await failure(stream.final);
    expect(error).toMatchObject({ code: 'network', closeCode, retryable });
    expect(error.message).toContain('not complete');
    await expect(reading).rejects.toBe(error);
    expect(seen.length).toBeLessThanOrEqual(1);
  },
);

test.for([
  { status: '403 Forbidden', type: 'text/plain', body: '', code: 'forbidden', says: 'status 403' },
  {
    status: '403 Forbidden',
    type: 'application/json',
    body: '{"error":"forbidden","message":"not this address"}',
    code: 'forbidden',
    says: 'not this address',
  },
  {
    status: '401 Unauthorized',
    type: 'application/json',
    body: '{"error":"unauthorized"}',
    code: 'unauthorized',
    says: 'unauthorized',
  },
  {
    status: '502 Bad Gateway',
    type: 'text/html',
    body: '<h1>502</h1>',
    code: 'unavailable',
    says: 'text/html (502)',
  },
  {
    status: '404 Not Found',
    type: 'text/html',
    body: '<h1>lost</h1>',
    code: 'unexpected_response',
    says: 'lost',
  },
  {
    status: '301 Moved',
    type: 'text/html\r\nlocation: https://asr.example/',
    body: '',
    code: 'unexpected_response',
    says: 'https://asr.example/',
  },
])('handshake answered $status ($body): $code', async ({ status, type, body, code, says }) => {
  service.handshake = (socket) =>
    socket.end(
      `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  const error = await failure(client.stream({ audio: PCM }).final);
  expect(error).toMatchObject({ code, status: Number(status.slice(0, 3)), closeCode: undefined });
  expect(error.message).toContain(says);
});

test('nobody listens, or the connection breaks in the handshake: network', async () => {
  service.handshake = (socket) => void socket.destroy();
  expect(await failure(client.stream().final)).toMatchObject({ code: 'network', retryable: true });
  await service.stop();
  const error = await failure(client.stream().final);
  expect(error).toMatchObject({ code: 'network', retryable: true });
  expect(error.message).toContain('ECONNREFUSED');
  service = await ScriptedService.start();
});

test.for([
  { what: 'no JSON', says: 'hello', shown: 'hello' },
  { what: 'a partial without text', says: '{"type":"partial","revision":1}', shown: '"revision":1' },
  {
    what: 'a final before the end',
    says: '{"type":"final","revision":1,"text":"","audio_ms":0,"finalize_ms":0}',
    shown: 'before the end',
  },
  { what: 'ready twice', says: '{"type":"ready","session_id":"a","chunk_ms":500}', shown: 'twice' },
  {
    what: 'an unknown error code',
    says: '{"type":"error","code":"moon","message":"full"}',
    shown: 'moon: full',
  },
])('$what: unexpected_response', async ({ says, shown }) => {
  service.stream = [
    (session) => {
      session.on('start', () => session.ready());
      session.on('audio', () => {
        session.say(says);
        session.socket.close(1011);
      });
    },
  ];
  const error = await failure(client.stream({ audio: PCM }).final);
  expect(error.code).toBe('unexpected_response');
  expect(error.message).toContain(shown);
});

test('every wait has a limit: for the handshake, ready and the final text', async () => {
  service.handshake = () => {};
  const limits = { readyTimeoutMs: 50, finalTimeoutMs: 50 };
  expect((await failure(client.stream(limits).ready)).code).toBe('no_answer');
  service.handshake = undefined;
  service.stream = [() => {}, onStart((session) => session.ready())];
  expect((await failure(client.stream(limits).ready)).code).toBe('no_answer');
  const error = await failure(client.stream(limits).end());
  expect(error).toMatchObject({ code: 'no_answer', message: 'the service sent no final text within 0.05 s' });
  await service.sessions[1]?.closed;
});

test('an abort or close() ends the connection; everything pending rejects with the reason', async () => {
  const reason = new Error('enough');
  await expect(client.stream({ signal: AbortSignal.abort(reason) }).final).rejects.toBe(reason);
  expect(service.sessions).toEqual([]);

  service.stream = [onStart((session) => session.ready())];
  const controller = new AbortController();
  const stream = client.stream({ audio: new Int16Array(160_000), signal: controller.signal });
  const reading = partials(stream);
  await stream.ready;
  controller.abort(reason);
  await expect(stream.final).rejects.toBe(reason);
  await expect(reading).rejects.toBe(reason);
  await service.sessions[0]?.closed;

  const closed = client.stream();
  await closed.ready;
  closed.close();
  await expect(closed.final).rejects.toMatchObject({ name: 'AbortError' });
  await service.sessions[1]?.closed;
});

test('the browser’s client sends the token in start, not in a header', async () => {
  vi.stubGlobal('WebSocket', WebSocket);
  service.stream = [recognizeAs('你好')];
  const stream = new BrowserClient({ url: service.url, apiToken: TOKEN }).stream({ audio: PCM });
  expect((await stream.final).text).toBe('你好');
  expect(service.sessions[0]?.request.headers.authorization).toBeUndefined();
  expect(service.sessions[0]?.control[0]).toEqual({ ...START, api_token: TOKEN });
  expect(service.sessions[0]?.pcm.equals(PCM_BYTES)).toBe(true);
  vi.unstubAllGlobals();
});

test('at most 64,000 bytes wait in the connection', async () => {
  let bufferedBytes = 0;
  let mostBytes = 0;
  let sentBytes = 0;
  /** A slow connection: each look at it finds 2,000 bytes less. */
  const sink = {
    get bufferedBytes() {
      bufferedBytes = Math.max(0, bufferedBytes - 2_000);
      return bufferedBytes;
    },
    send(frame: string | Uint8Array) {
      sentBytes += frame.length;
      bufferedBytes += frame.length;
      mostBytes = Math.max(mostBytes, bufferedBytes);
    },
  };
  const unlimited = new Pace('live');
  unlimited.take = () => 0;
  const sender = new AudioSender(Promise.resolve(sink), unlimited, new AbortController().signal);
  await sender.push(new Int16Array(120_000));
  expect(sentBytes).toBe(240_000);
  expect(mostBytes).toBeGreaterThan(60_000);
  expect(mostBytes).toBeLessThanOrEqual(64_000);
});

test('real time: 100 ms a frame; after being held up, half a second is caught up, no more', () => {
  const pace = new Pace('real-time');
  const waits = [1_000, 1_000, 1_200, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000].map((nowMs) =>
    pace.take(3_200, nowMs),
  );
  expect(waits).toEqual([0, 100, 0, 0, 0, 0, 0, 0, 0, 100]);
});

test('live: one second at once, then twice as fast as it is spoken', () => {
  const pace = new Pace('live');
  const waits = Array.from({ length: 13 }, () => pace.take(3_200, 5_000));
  expect(waits).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50, 100]);
});
