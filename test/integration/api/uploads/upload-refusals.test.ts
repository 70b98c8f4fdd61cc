import { once } from 'node:events';
import { type IncomingMessage, METHODS, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { chunk, wavFile } from '../../../support/audio/wav.ts';
import { filePart, form, postBody } from '../../../support/clients/form.ts';
import { eventually } from '../../../support/machine/eventually.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { AUTHORIZED, startApi, type TestApi, TOKEN, upload } from '../../../support/service/api.ts';

/** No inference process runs here: a heartbeat says ready, and nothing that is refused may get as far as a job. */
let redis: TestRedis;
let api: TestApi;
const path = '/v1/audio/transcriptions';
const wav = wavFile(Buffer.alloc(32_000));

beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url, { ASR_UPLOAD_TIMEOUT_MS: '700' });
});
beforeEach(() => api.services.readiness.beat({ id: 'scripted', host: 'here', pid: 1, state: 'ready' }));
afterEach(async () => {
  const left = (await redis.keys()).filter(
    (key) => !/^{asr}:(inference|replica)/.test(key) && !key.startsWith('{asr}:uploads:'),
  );
  expect(left).toEqual([]);
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

const post = (body: Buffer, type: string | undefined) => postBody(api.origin, body, type);

const TOO_LARGE = 'enough for 15 s of 16 kHz, mono, 16 bits. Shorten it to 15 s, or let asr-client cut it';

describe('limits at the exact byte', () => {
  test('a file of 484,096 bytes is read, one of 484,097 is 413', async () => {
    // The largest file gets as far as having no sample.
    const padded = (bytes: number) => {
      const padding = chunk('JUNK', Buffer.alloc(bytes - 52)).subarray(0, bytes - 44);
      return Buffer.concat([wavFile(Buffer.alloc(0)), padding]);
    };
    expect(await upload(api.origin, padded(484_096))).toMatchObject({
      status: 400,
      body: { error: 'empty_audio' },
    });
    const over = await upload(api.origin, padded(484_097));
    expect(over).toMatchObject({
      status: 413,
      body: {
        error: 'upload_too_large',
        message: `the file has 484097 bytes; at most 484096 are taken, ${TOO_LARGE}`,
      },
    });
  });

  test('a file of another form, which may be short enough, is told to convert', async () => {
    const message = expect.stringContaining(
      'Another sample rate or more channels make a file larger. Convert it: ffmpeg -i IN',
    );
    const pcm = Buffer.alloc(500_000);
    for (const file of [wavFile(pcm, { sampleRateHz: 44_100 }), wavFile(pcm, { channels: 2 }), pcm])
      expect(await upload(api.origin, file)).toMatchObject({ status: 413, body: { message } });
  });

  const bodyOf = (bytes: number) => {
    const empty = form([
      filePart(Buffer.alloc(0)),
      { headers: 'Content-Disposition: form-data; name="note"', content: Buffer.alloc(0) },
    ]);
    const padding = Buffer.alloc(bytes - empty.body.length, 'x');
    const note = { headers: 'Content-Disposition: form-data; name="note"', content: padding };
    return form([filePart(Buffer.alloc(0)), note]);
  };

  test('a body of 545,536 bytes is read, one of 545,537 is 413, by its declared length', async () => {
    const most = bodyOf(545_536);
    expect(most.body).toHaveLength(545_536);
    expect(await post(most.body, most.type)).toMatchObject({ status: 400, body: { error: 'empty_audio' } });
    const over = bodyOf(545_537);
    expect(await post(over.body, over.type)).toMatchObject({
      status: 413,
      body: {
        error: 'upload_too_large',
        message: `the request body has 545537 bytes; at most 545536 are taken, ${TOO_LARGE}, which also converts other sample rates and channels`,
      },
    });
  });

  test('and by counting, when no length is declared', async () => {
    const chunked = async (bytes: number) => {
      const { body, type } = bodyOf(bytes);
      const response = await fetch(api.origin + path, {
        method: 'POST',
        headers: { ...AUTHORIZED, 'content-type': type },
        body: new Blob([Uint8Array.from(body)]).stream(),
        duplex: 'half',
      } as RequestInit);
      return { status: response.status, body: await response.json() };
    };
    expect(await chunked(545_536)).toMatchObject({ status: 400 });
    const message = expect.stringContaining(TOO_LARGE);
    expect(await chunked(545_537)).toMatchObject({ status: 413, body: { message } });
  });
});

test.each([undefined, 'audio/wav', ';;;'])(
  'model not ready → 503 before the body is read, whatever its type is (%s)',
  async (type) => {
    await api.services.readiness.stop('scripted');
    const { body, ...whole } = form([filePart(wav)]);
    expect(await post(body, type ?? whole.type)).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  },
);

describe('Retry-After', () => {
  const asked = async (target: string, init: RequestInit = {}) => {
    const { status, headers } = await fetch(api.origin + target, { headers: AUTHORIZED, ...init });
    return [status, headers.get('retry-after')];
  };
  const sent = async (file: Buffer, headers: Record<string, string> = AUTHORIZED) => {
    const answer = await upload(api.origin, file, headers);
    return [answer.status, answer.headers.get('retry-after')];
  };
  test('is 1 with each 409', async () => {
    await redis.client.set('{asr}:slot', 'somebody else', 'PX', 5_000);
    expect(await sent(wav)).toEqual([409, '1']);
    await redis.client.del('{asr}:slot');
  });
  test('is 1 with each 503', async () => {
    await api.services.readiness.stop('scripted');
    expect(await sent(wav)).toEqual([503, '1']);
    expect(await asked('/readyz')).toEqual([503, '1']);
  });
  test('is not there with what the next attempt does not mend', async () => {
    expect(await asked('/readyz')).toEqual([200, null]);
    expect(await sent(wav, {})).toEqual([401, null]);
    expect(await sent(Buffer.alloc(0))).toEqual([400, null]);
    expect(await asked('/nowhere')).toEqual([404, null]);
  });
});

describe('refused before or while the body comes', () => {
  test.each([
    ['POST', {}, 401],
    ['POST', AUTHORIZED, 413],
    ['PUT', {}, 405],
  ])(
    'the whole answer (%s %j → %i) reaches a client that sends megabytes first',
    async (method, headers: Record<string, string>, status) => {
      const response = await fetch(api.origin + path, {
        method,
        headers: { ...headers, 'content-type': 'audio/wav' },
        body: new Uint8Array(20_000_000),
      });
      expect(response.status).toBe(status);
      expect(await response.json()).toHaveProperty('error');
    },
  );

  // Of a client that would keep it, too: several write no more of a body that is answered, and the next
  // request into the same connection.
  test.each([
    ['HTTP/1.1', 'Host: x\r\n'],
    ['HTTP/1.1', 'Host: x\r\nConnection: close\r\n'],
    ['HTTP/1.0', ''],
  ])(
    'and it says that the connection is closed (%s, %j): it is, behind the body',
    async (version, headers) => {
      const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
      let answer = '';
      socket.on('data', (data) => {
        answer += data.toString();
      });
      socket.write(`POST ${path} ${version}\r\n${headers}Content-Length: 20000000\r\n\r\n`);
      socket.write(Buffer.alloc(20_000_000));
      // Rejects when the connection is reset.
      await once(socket, 'close');
      expect(answer).toMatch(/^HTTP\/1\.1 401 /);
      expect(answer).toMatch(/\r\nconnection: close\r\n/i);
      expect(answer).toContain('"error":"unauthorized"');
    },
  );

  test.each([
    ['a request without a body', { headers: {} }],
    ['an upload that was read', { method: 'POST', headers: AUTHORIZED, body: 'x' }],
  ])('a refusal of %s keeps the connection', async (_name, options) => {
    const response = await fetch(api.origin + path, options);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.headers.get('connection')).toBe('keep-alive');
  });

  describe('a client that asks before it sends', () => {
    /** What the service says of the headers alone; the body follows when it may. */
    const ask = async (headers: Record<string, string>, target = path): Promise<readonly unknown[]> => {
      const body = form([filePart(wavFile(Buffer.alloc(0)))]);
      const asking = request(`${api.origin}${target}`, {
        method: 'POST',
        headers: {
          expect: '100-continue',
          'content-type': body.type,
          'content-length': body.body.length,
          ...headers,
        },
      });
      let said = 'nothing';
      asking.on('continue', () => {
        said = 'continue';
        asking.end(body.body);
      });
      asking.flushHeaders();
      const [answer]: IncomingMessage[] = await once(asking, 'response');
      answer?.resume();
      const outcome = [said, answer?.statusCode];
      asking.destroy();
      return outcome;
    };

    test.each(['100-continue', '100-Continue'])('by %s is told to go on', async (expect_) => {
      expect(await ask({ ...AUTHORIZED, expect: expect_ })).toEqual(['continue', 400]);
    });
    test('in HTTP/1.0, which has no such answer, gets the answer alone', async () => {
      const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
      const { type, body } = form([filePart(wavFile(Buffer.alloc(0)))]);
      const headers = `Authorization: Bearer ${TOKEN}\r\nExpect: 100-continue\r\nContent-Type: ${type}\r\n`;
      socket.write(`POST ${path} HTTP/1.0\r\n${headers}Content-Length: ${body.length}\r\n\r\n`);
      socket.write(body);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
    });
    test.each([
      ['without a token', {}, path, 401],
      ['with too much to send', { ...AUTHORIZED, 'content-length': '545537' }, path, 413],
      ['on a path that is none', AUTHORIZED, '/v1/elsewhere', 404],
    ])('%s is refused before that', async (_name, headers, target, status) => {
      expect(await ask(headers, target)).toEqual(['nothing', status]);
    });
    test('is refused before that while the model is not ready', async () => {
      await api.services.readiness.stop('scripted');
      expect(await ask(AUTHORIZED)).toEqual(['nothing', 503]);
    });
  });

  const rawRequest = (headers: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n${headers}\r\n`;
  const multipart = 'Content-Type: multipart/form-data; boundary=B\r\nContent-Length: 1000\r\n';

  test('an upload that stands still → 408 timeout, as the last answer of its connection', async () => {
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
    socket.write(`${rawRequest(multipart)}--B\r\n`);
    const answer = String((await once(socket, 'data'))[0]);
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^{]*\r\nconnection: close\r\n/is);
    expect(answer).toContain(
      '"error":"timeout","message":"the upload was not complete in time; 5 of 1000 bytes arrived"',
    );
  });

  test('an upload that came while the replica itself stood still is in time', async () => {
    const { body, type } = form([filePart(wavFile(Buffer.alloc(0)))]);
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
    const headers = `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n`;
    socket.write(rawRequest(headers));
    // From now on the time limit of 700 ms runs.
    await once(socket, 'data');
    socket.write(body);
    const stillUntilMs = performance.now() + 1_000;
    while (performance.now() < stillUntilMs);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 400 [^{]*{"error":"empty_audio"/);
    socket.destroy();
  });

  test('an upload that is too slow → 408, and no reset under a proxy that sends the rest before it reads', async () => {
    const socket = connect({
      port: Number(new URL(api.origin).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    const closed = once(socket, 'close');
    socket.write(`${rawRequest(multipart)}--B\r\n`);
    // Longer than the time limit of 700 ms; the first write behind a reset fails.
    for (let bytes = 5; bytes < 1_000; bytes += 199) {
      await sleep(300);
      socket.write(Buffer.alloc(199));
    }
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
    });
    socket.end();
    await closed;
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  });

  test('a refused upload whose rest never comes has one answer', async () => {
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
    let answers = '';
    socket.on('data', (data) => {
      answers += data.toString();
    });
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${multipart}\r\n`);
    await once(socket, 'data');
    socket.end('--B\r\n');
    await once(socket, 'close');
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
  });

  test('a client that hangs up in its upload costs nothing', async () => {
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
    socket.write(`${rawRequest(multipart)}--B\r\n`);
    await once(socket, 'connect');
    const line = api.logged((entry) => entry['code'] === 'client_gone');
    socket.destroy();
    expect(await line).toMatchObject({ status: 499, outcome: 'disconnected' });
  });

  test('clients that reset their connections are not counted as refused', async () => {
    const reset = async (): Promise<void> => {
      const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
      await once(socket, 'connect');
      await new Promise((resolve) => socket.write(`${rawRequest(multipart)}--B\r\n`, resolve));
      socket.resetAndDestroy();
    };
    const before = api.log.length;
    await Promise.all(Array.from({ length: 50 }, reset));
    const codes = () => api.log.slice(before).flatMap(({ msg, code }) => (msg === 'request' ? code : []));
    await eventually(() => expect(codes()).toHaveLength(50));
    expect(new Set(codes())).toEqual(new Set(['client_gone']));
    expect(await upload(api.origin, Buffer.alloc(0))).toMatchObject({ status: 400 });
  });
});

/** No client of HTTP/1.1 sends CONNECT to a server that is no proxy, and Node has no answer to it. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT');

test.each([
  ['/v1/audio/transcriptions', ['POST']],
  ...[
    '/healthz',
    '/readyz',
    '/ws/asr',
    '/openapi.json',
    '/api-reference.md',
    '/api-docs',
    '/api-docs/',
    '/api-docs/static/swagger-ui.css',
    '/',
    '/page/main.js',
    '/page/model.json',
    '/healthz?api_token=x',
    '/%68ealthz',
  ].map((known): [string, string[]] => [known, ['GET', 'HEAD']]),
])('%s has the methods %j: every other one is 405', async (known, allowed) => {
  for (const method of ALL_METHODS.filter((name) => !allowed.includes(name))) {
    const asking = request(api.origin + known, { method }).end();
    const [answer]: IncomingMessage[] = await once(asking, 'response');
    if (!answer) throw new Error('no answer');
    expect([method, answer.statusCode, answer.headers.allow]).toEqual([method, 405, allowed.join(', ')]);
    const body = await text(answer);
    // A query may hold a token, which no answer repeats.
    const message = `${known.split('?')[0]} takes ${allowed.join(', ')}, not ${method}`;
    if (method !== 'HEAD') expect(JSON.parse(body)).toEqual({ error: 'method_not_allowed', message });
  }
});

test.each(['POST', 'OPTIONS', 'QUERY', 'TRACE', 'PROPFIND'])(
  'an unknown path is 404 with %s',
  async (method) => {
    const asking = request(`${api.origin}/nowhere`, { method }).end();
    const [answer]: IncomingMessage[] = await once(asking, 'response');
    expect([answer?.statusCode, answer?.headers.allow]).toEqual([404, undefined]);
    answer?.resume();
  },
);

test.each([
  ['no body', {}],
  ['a body that is no JSON', { headers: { 'content-type': 'application/json' }, body: '{' }],
  ['a body over the limits', { headers: { 'content-type': 'text/plain' }, body: 'x'.repeat(600_000) }],
  ['a nonsense type', { headers: { 'content-type': ';;;' }, body: 'x' }],
])('an unknown path is 404 in the form of an error, with %s', async (_name, request) => {
  // A query may hold a token, which no answer repeats.
  const path = '/api/v1/audio/transcription';
  const response = await fetch(`${api.origin}${path}?token=${TOKEN}`, { method: 'POST', ...request });
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({ error: 'not_found', message: `there is no POST ${path}` });
});

test.each([
  '/audio/transcriptions',
  '/v1/v1/audio/transcriptions',
  '/v1/audio/transcriptions/audio/transcriptions',
])('%s, of a client with a wrong base URL, names the right path', async (path) => {
  const response = await fetch(api.origin + path, { method: 'POST' });
  expect(response.status).toBe(404);
  const hint = "the path is /v1/audio/transcriptions, so correct the client's base URL";
  expect(await response.json()).toEqual({ error: 'not_found', message: `there is no POST ${path}; ${hint}` });
});
