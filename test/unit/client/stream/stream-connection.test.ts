import { getEventListeners, once } from 'node:events';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { AsrClient as BrowserClient } from '../../../../client/browser.ts';
import { AsrClient, AsrError } from '../../../../client/node.ts';
import { browserTransport } from '../../../../client/stream/socket-browser.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { recognizeAs, ScriptedService } from '../scripted-service.ts';
import { failure, onStart, PCM, partials, TOKEN } from '../sessions.ts';

let service: ScriptedService;
let client: AsrClient;

beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: service.url, apiToken: TOKEN });
});
afterEach(() => service.stop());

/** Waits for the connection's events alone: whatever waits by the clock, as `poll` does, sets the false one forward. */
async function noTimers(): Promise<void> {
  for (let turn = 0; turn < 1_000 && vi.getTimerCount() > 0; turn += 1)
    await new Promise((next) => setImmediate(next));
  expect(vi.getTimerCount()).toBe(0);
}

test('a handshake answered with a page that breaks off, within a character: what there is of it', async () => {
  const page = Buffer.from('{"error":"forbidden","message":"不行"}');
  const head = `HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: ${page.length}\r\n\r\n`;
  service.handshake = (socket) => {
    socket.write(Buffer.concat([Buffer.from(head), page.subarray(0, 33)]));
    setTimeout(() => socket.end(page.subarray(33)), 20);
  };
  expect(await failure(client.stream().final)).toMatchObject({ code: 'forbidden', message: '不行' });
  service.handshake = (socket) => void socket.write(`${head}{`, () => setImmediate(() => socket.destroy()));
  expect(await failure(client.stream().final)).toMatchObject({ code: 'forbidden', status: 403 });
});

test('audio and end() behind an error of the service are not sent: they would be a second fault', async () => {
  service.stream = [
    onStart((session) => {
      session.ready();
      session.say({ type: 'error', code: 'timeout', message: 'late' });
      session.say('whatever follows');
      session.socket.ping();
    }),
  ];
  const { signal } = new AbortController();
  const stream = client.stream({ signal });
  await stream.ready;
  const [session] = service.sessions;
  await once(session?.socket as WebSocket, 'pong');
  const sent = failure(stream.send(PCM));
  const ended = failure(stream.end());
  session?.socket.close(1008);
  expect(await ended).toMatchObject({ code: 'timeout', closeCode: 1008 });
  expect(await sent).toBe(await ended);
  expect(session?.frames).toEqual([]);
  expect(session?.control.map(({ type }) => type)).toEqual(['start']);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test.each([
  [[1002, 1003, 1007, 1008, 1009, 1010, 1011], false],
  [[1000, 1001, 1005, 1006, 1012, 1013, 1014], true],
])('closed with %j: retryable is %s', (closeCodes, retryable) => {
  for (const closeCode of closeCodes)
    expect(new AsrError('network', 'closed', { closeCode }).retryable).toBe(retryable);
});

test('what the service says behind the final text changes nothing', async () => {
  service.stream = [
    (session) => {
      recognizeAs('你好')(session);
      session.socket.removeAllListeners('message');
      session
        .on('start', () => session.ready())
        .on('end', () => {
          session.say({ type: 'partial', revision: 1, text: '你' });
          session.say({ type: 'final', revision: 2, text: '你好', audio_ms: 0, finalize_ms: 1 });
          session.say({ type: 'partial', revision: 3, text: '再见' });
          session.say({ type: 'error', code: 'timeout', message: 'late' });
          session.socket.close(1008);
        });
    },
  ];
  const { signal } = new AbortController();
  const stream = client.stream({ signal });
  expect((await stream.end()).text).toBe('你好');
  await service.sessions[0]?.closed;
  expect(await partials(stream)).toEqual([{ revision: 1, text: '你' }]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('nor does what comes together with a message that ended the session', async () => {
  service.stream = [
    onStart((session) => {
      session.request.socket.cork();
      session.say({ type: 'ready' });
      session.say({ type: 'partial', revision: 1, text: '你' });
      session.request.socket.uncork();
    }),
  ];
  const reading = client.stream()[Symbol.asyncIterator]();
  await expect(reading.next()).rejects.toMatchObject({ code: 'unexpected_response' });
});

test('closed while its file is still read, it does not even connect', async () => {
  service.stream = [recognizeAs('好')];
  const stream = client.stream({ audio: new Blob([wavFile(Buffer.from(PCM.buffer))]) });
  stream.close();
  await expect(stream.final).rejects.toMatchObject({ name: 'AbortError' });
  await client.stream({ audio: PCM }).final;
  expect(service.sessions).toHaveLength(1);
});

test('a connection holds no program when it has gone', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    service.stream = [recognizeAs('好')];
    const stream = client.stream();
    await stream.end();
    await noTimers();
    // Nor does the pace of one that was given up.
    const heard = new Promise<void>((resolve) => {
      service.stream = [(session) => session.on('start', () => session.ready()).on('audio', resolve)];
    });
    const abandoned = client.stream({ audio: new Int16Array(160_000) });
    await heard;
    abandoned.close();
    await noTimers();
    // Nor the limit of one that was given up before there was a connection.
    client.stream().close();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a browser’s connection is heard when it opens and not when it was given up; it says what waits in it, and that it broke', async () => {
  const opened: Record<string, unknown>[] = [];
  const sent: unknown[] = [];
  class Platform {
    bufferedAmount = 64_000;
    onopen = (): void => {};
    onerror = (): void => {};
    onclose = (_: object): void => {};
    constructor() {
      opened.push(this as never);
    }
    send = (data: unknown): void => void sent.push(data);
    close = (): void => {};
  }
  vi.stubGlobal('WebSocket', Platform);
  onTestFinished(() => void vi.unstubAllGlobals());
  const events = { onOpen: () => {}, onText: () => {}, onClose: () => {}, onFailed: () => {} };
  expect(browserTransport.connect('ws://asr.example', TOKEN, events).bufferedBytes).toBe(64_000);
  const stream = new BrowserClient({ url: service.url, apiToken: TOKEN }).stream();
  stream.close();
  (opened[1] as unknown as Platform).onopen();
  expect(sent).toEqual([]);
  // One that breaks was there: the browser tells an error first, and then how.
  const broken = new BrowserClient({ url: service.url, apiToken: TOKEN }).stream();
  const platform = opened[2] as unknown as Platform;
  platform.onopen();
  platform.onerror();
  platform.onclose({ code: 1006, reason: '' });
  expect((await failure(broken.final)).message).toContain('the connection broke');
  // Where its policy forbids the connection, a page of Chromium hears of an error alone.
  const forbidden = new BrowserClient({ url: service.url, apiToken: TOKEN }).stream();
  (opened[3] as unknown as Platform).onerror();
  expect((await failure(forbidden.final)).message).toContain('Content-Security-Policy forbids it');
});

test('a connection that the browser forbids at once, as a page of HTTPS has no ws:, is told as every other', async () => {
  vi.stubGlobal(
    'WebSocket',
    class {
      constructor() {
        throw new DOMException('An insecure connection may not be initiated', 'SecurityError');
      }
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const error = await failure(new BrowserClient({ url: service.url, apiToken: TOKEN }).stream().ready);
  expect(error.code).toBe('network');
  expect(error.message).toContain('the browser forbids it to this page (An insecure connection may not');
});

test('a browser without URL.canParse, as Chromium before 120 and Safari before 17, is new enough', async () => {
  const { canParse } = URL;
  onTestFinished(() => void Object.assign(URL, { canParse }));
  Reflect.deleteProperty(URL, 'canParse');
  service.http = [(response) => void response.writeHead(401).end()];
  const browser = new BrowserClient({ url: service.url, apiToken: TOKEN });
  expect(await failure(browser.ready())).toMatchObject({
    code: 'unauthorized',
    message: 'status 401 with no content type, not an answer of the service',
  });
  expect(() => new BrowserClient({ url: 'asr', apiToken: TOKEN })).toThrow('url "asr" is not http');
});
