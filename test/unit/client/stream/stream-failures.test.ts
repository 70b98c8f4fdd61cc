import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { AsrClient as BrowserClient } from '../../../../client/browser.ts';
import { AsrClient } from '../../../../client/node.ts';
import type { Transport } from '../../../../client/stream/socket.ts';
import { AsrStream } from '../../../../client/stream/stream.ts';
import { recognizeAs, ScriptedService, type ScriptedSession } from '../scripted-service.ts';
import { failure, onStart, PCM, partials, TOKEN } from '../sessions.ts';

let service: ScriptedService;
let client: AsrClient;

beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: service.url, apiToken: TOKEN });
});
afterEach(() => service.stop());

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
  // What was sent before the error arrived; all of it would be 100 frames.
  expect(service.sessions[0]?.frames.length).toBeLessThan(20);
});

test.for([
  {
    how: 'without a word',
    end: (session: ScriptedSession) => session.socket.close(1008),
    closeCode: 1008,
    retryable: false,
  },
  {
    how: 'as too large a message',
    end: (session: ScriptedSession) => session.socket.close(1009),
    closeCode: 1009,
    retryable: false,
  },
  {
    how: 'by a failure of the server',
    end: (session: ScriptedSession) => session.socket.close(1011),
    closeCode: 1011,
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
    says: 'status 502 with text/html',
  },
  {
    status: '404 Not Found',
    type: 'text/html',
    body: '<h1>lost</h1>',
    code: 'unexpected_response',
    says: 'status 404 with text/html',
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
    shown: 'out of turn: streaming → finished',
  },
  {
    what: 'ready twice',
    says: '{"type":"ready","session_id":"a","chunk_ms":500}',
    shown: 'out of turn: streaming → streaming',
  },
  { what: 'ready without its pieces', says: '{"type":"ready","session_id":"a"}', shown: '"session_id":"a"}' },
  { what: 'a partial without its number', says: '{"type":"partial","text":"你"}', shown: '"text":"你"}' },
  {
    what: 'a final text without the length of its audio',
    says: '{"type":"final","revision":1,"text":"你","finalize_ms":1}',
    shown: '"finalize_ms":1}',
  },
  {
    what: 'a final text without its time',
    says: '{"type":"final","revision":1,"text":"你","audio_ms":1}',
    shown: '"audio_ms":1}',
  },
  {
    what: 'a text in a binary frame',
    says: Buffer.from('{"type":"partial","revision":1,"text":"你"}'),
    shown: '(binary)',
  },
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
        session.socket.send(says);
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
  expect((await failure(client.stream({ connectTimeoutMs: 50 }).ready)).code).toBe('no_answer');
  service.handshake = undefined;
  service.stream = [() => {}];
  expect((await failure(client.stream({ readyTimeoutMs: 50 }).ready)).code).toBe('no_answer');
  service.stream = [onStart((session) => session.ready())];
  const error = await failure(client.stream({ finalTimeoutMs: 50 }).end());
  expect(error).toMatchObject({ code: 'no_answer', message: 'the service sent no final text within 0.05 s' });
  await service.sessions.at(-1)?.closed;
});

test.each(['send', 'end'] as const)(
  'a connection that takes nothing more fails the session at its %s',
  async (last) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      let bufferedBytes = 0;
      const terminate = vi.fn();
      const full: Transport = {
        tokenInStart: false,
        connect(_url, _token, events) {
          setTimeout(() => {
            events.onOpen();
            events.onText(JSON.stringify({ type: 'ready', session_id: 'a', chunk_ms: 500 }));
            bufferedBytes = 64_000;
          });
          return {
            get bufferedBytes() {
              return bufferedBytes;
            },
            send: () => {},
            terminate,
          };
        },
      };
      const session = new AsrStream('ws://asr.example/ws/asr', TOKEN, full, {});
      const final = failure(session.final);
      // The first waits for the connection's buffer itself, the second leaves its short frame to the end.
      const sent =
        last === 'send' ? failure(session.send(new Int16Array(1_600))) : session.send(new Int16Array(8));
      if (last === 'end') session.end();
      await vi.advanceTimersByTimeAsync(46_000);
      expect(await final).toMatchObject({
        code: 'no_answer',
        message: 'the session did not end within 45 s',
      });
      expect(await sent).toBe(last === 'send' ? await final : undefined);
      expect(terminate).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  },
);

test('unless told otherwise these limits are 70 s, 10 s and 60 s; a service that does not hang up gets 1 s for it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const reached = new Promise<void>((resolve) => {
      service.handshake = () => resolve();
    });
    const opening = failure(client.stream().ready);
    await reached;
    vi.runOnlyPendingTimers();
    // Somebody else's recordings are in front, in a queue.
    expect((await opening).message).toContain('no connection to ws:');
    expect((await opening).message).toContain('within 70 s');
    service.handshake = undefined;

    const connected = new Promise<void>((resolve) => {
      service.stream = [(session) => session.on('start', resolve)];
    });
    const starting = failure(client.stream().ready);
    await connected;
    vi.runOnlyPendingTimers();
    expect((await starting).message).toContain('was not ready within 10 s');

    const said = new Promise<void>((resolve) => {
      service.stream = [(session) => session.on('start', () => session.ready()).on('end', resolve)];
    });
    const finishing = failure(client.stream().end());
    await said;
    vi.runOnlyPendingTimers();
    expect((await finishing).message).toContain('no final text within 60 s');

    service.stream = [
      (session) => {
        const final = { type: 'final', revision: 1, text: '好', audio_ms: 0, finalize_ms: 1 };
        session.on('start', () => session.ready()).on('end', () => session.say(final));
      },
    ];
    expect((await client.stream().end()).text).toBe('好');
    vi.advanceTimersByTime(1_000);
    await service.sessions.at(-1)?.closed;
  } finally {
    vi.useRealTimers();
  }
});

test('the browser’s client: what may be wrong where there never was a connection; given up, it is closed', async () => {
  // A browser's socket tells an error to nobody who does not ask.
  vi.stubGlobal(
    'WebSocket',
    class extends WebSocket {
      constructor(url: string) {
        super(url);
        this.on('error', () => {});
      }
    },
  );
  try {
    const browser = new BrowserClient({ url: service.url, apiToken: TOKEN });
    service.handshake = (socket) => void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    const error = await failure(browser.stream().ready);
    expect(error).toMatchObject({ code: 'network', closeCode: 1006, retryable: true });
    expect(error.message).toContain('refuses this address or this page’s origin (403)');
    service.handshake = undefined;
    service.stream = [onStart((session) => session.ready())];
    const stream = browser.stream();
    await stream.ready;
    stream.close();
    expect(await service.sessions[0]?.closed).toBe(1000);
  } finally {
    vi.unstubAllGlobals();
  }
});

test('pieces and ends that nobody waits for: the failure is told by `final`, a piece behind the end is dropped, and no program ends', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  try {
    service.stream = [onStart((session) => session.fail('busy', 1008))];
    const stream = client.stream();
    void stream.send(PCM);
    expect((await failure(stream.final)).code).toBe('busy');
    void stream.send(PCM);
    service.stream = [
      onStart((session) => {
        session.ready();
        session.fail('timeout', 1008);
      }),
    ];
    const silent = client.stream();
    expect((await failure(silent.final)).code).toBe('timeout');
    void silent.end();
    service.stream = [recognizeAs('好')];
    const ended = client.stream();
    void ended.send(PCM);
    const final = ended.end();
    void ended.send(PCM);
    expect((await final).text).toBe('好');
    expect(service.sessions.at(-1)?.pcm).toHaveLength(2 * PCM.length);
    // Node looks for rejections without a handler between two turns of its loop.
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
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
  // Broken off: a close of its own would be waited for by this program, for half a minute where nobody answers it.
  expect(await service.sessions[0]?.closed).toBe(1006);

  const closed = client.stream();
  await closed.ready;
  closed.close();
  await expect(closed.final).rejects.toMatchObject({ name: 'AbortError' });
  await service.sessions[1]?.closed;
});
