import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { AsrClient as BrowserClient } from '../../../../client/browser.ts';
import { AsrClient, type StreamPartial } from '../../../../client/node.ts';
import { Unread } from '../../../../client/stream/unread.ts';
import { Deferred } from '../../../../common/time/deferred.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { recognizeAs, ScriptedService } from '../scripted-service.ts';
import { failure, PCM, partials, TOKEN } from '../sessions.ts';

const PCM_BYTES = Buffer.from(PCM.buffer);
const START = { type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le' };

let service: ScriptedService;
let client: AsrClient;

beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: service.url, apiToken: TOKEN });
});
afterEach(() => service.stop());

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
  expect(session?.request.headers['sec-websocket-extensions']).toBeUndefined();
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

test('bytes in place of samples, as a file or a pipe gives them: refused, not taken for audio', async () => {
  service.stream = [recognizeAs('好')];
  const bytes: AsyncIterable<Int16Array> = Readable.from([Buffer.alloc(3_200)]);
  const error = await failure(client.stream({ audio: bytes }).final);
  expect(error).toMatchObject({
    code: 'invalid_format',
    message: expect.stringContaining('not of Uint8Array'),
  });
});

test.for([
  { what: 'a path', audio: 'recording.wav', kind: 'String' },
  { what: 'floats', audio: new Float32Array(1_600), kind: 'Float32Array' },
  { what: 'a promise', audio: Promise.resolve(PCM), kind: 'Promise' },
  { what: 'nothing', audio: null, kind: 'Null' },
])('$what in place of a recording: it is said so, and no file is blamed', async ({ audio, kind }) => {
  const message = `audio is given whole, as a Blob, ArrayBuffer, Uint8Array or Int16Array, not as ${kind}`;
  // @ts-expect-error what only a program without types can give
  expect(await failure(client.transcribe(audio))).toMatchObject({ code: 'invalid_format', message });
  // @ts-expect-error the same
  expect(await failure(client.stream({ audio }).final)).toMatchObject({ code: 'invalid_format', message });
  expect(service.sessions).toEqual([]);
});

test('a whole recording over 15 s does not even connect', async () => {
  const error = await failure(client.stream({ audio: new Int16Array(240_001) }).final);
  expect(error.code).toBe('audio_too_long');
  expect(service.sessions).toEqual([]);
});

test('end() while pieces still come: the recording ends there, and its source is told', async () => {
  const next = new Deferred<void>();
  const left = new Deferred<void>();
  async function* microphone() {
    try {
      yield PCM;
      await next.promise;
      yield PCM;
    } finally {
      left.resolve();
    }
  }
  service.stream = [
    (session) => {
      session
        .on('start', () => session.ready())
        .on('end', async () => {
          next.resolve();
          await left.promise;
          const audio_ms = Math.round(session.pcm.length / 32);
          session.say({ type: 'final', revision: 1, text: '你好', audio_ms, finalize_ms: 1.5 });
          session.socket.close(1000);
        });
    },
  ];
  const stream = client.stream({ audio: microphone() });
  await stream.ready;
  expect(await stream.end()).toMatchObject({ text: '你好', audio_ms: 250 });
});

test('end() of a whole recording waits for what is left of it', async () => {
  service.stream = [recognizeAs('你好')];
  expect(await client.stream({ audio: PCM }).end()).toMatchObject({ text: '你好', audio_ms: 250 });
  const stream = client.stream({ audio: wavFile(Buffer.from(PCM_BYTES)) });
  await stream.ready;
  expect(await stream.end()).toMatchObject({ text: '你好', audio_ms: 250 });
});

test('a reader may come late, or not at all', async () => {
  service.stream = [recognizeAs('你好')];
  const stream = client.stream({ audio: PCM });
  await stream.final;
  expect(await partials(stream)).toEqual([{ revision: 1, text: '你' }]);
});

test('a reader that comes after a failure has first what was there before it', async () => {
  const unread = new Unread<StreamPartial>();
  unread.push({ revision: 1, text: '你' });
  unread.fail(new Error('gone'));
  const reading = unread.read();
  expect((await reading.next()).value).toEqual({ revision: 1, text: '你' });
  await expect(reading.next()).rejects.toThrow('gone');
});

test('a whole recording goes as audio that comes at its own speed where it is told to: 1 s at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    service.stream = [recognizeAs('你好')];
    // No wait of this client ends here.
    await client.stream({ audio: new Int16Array(16_000), realTime: false }).final;
    expect(service.sessions[0]?.pcm.length).toBe(32_000);
  } finally {
    vi.useRealTimers();
  }
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
