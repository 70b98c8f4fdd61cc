import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { buildApp } from '../../../../api/app.ts';
import { createLogger } from '../../../../common/process/log.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { startApi, type TestApi, TOKEN } from '../../../support/service/api.ts';

/** What is refused in front of the routes, or by the WebSocket layer, is in the log and the metrics as any other refusal is. */
let redis: TestRedis;
let api: TestApi;

beforeAll(async () => {
  redis = await startRedis();
  api = await startApi(redis.url);
});
afterAll(async () => {
  await api.stop();
  await redis.stop();
});

async function answerTo(request: string | Buffer): Promise<Buffer> {
  const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
  const answer: Buffer[] = [];
  socket.on('data', (bytes) => answer.push(bytes));
  socket.write(request);
  await once(socket, 'end');
  socket.end();
  return Buffer.concat(answer);
}

async function count(series: string): Promise<number> {
  const lines = (await api.metrics.registry.metrics()).split('\n');
  return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1) ?? 0);
}

const handshake = (key: string, version: string) =>
  `GET /ws/asr HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: ${version}\r\n\r\n`;
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const LARGE_HEADERS = `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`;
const upload = `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n`;

test.each([
  ['a handshake of another version', handshake(KEY, '12'), '/ws/asr', 400],
  ['a handshake with a key that is none', handshake('abc', '13'), '/ws/asr', 400],
  ['what is no HTTP', 'no HTTP\r\n\r\n', 'unknown', 400],
  ['headers that are too large', LARGE_HEADERS, 'unknown', 431],
  ['an upload that breaks off into what is no chunk', `${upload}zz\r\n`, '/v1/audio/transcriptions', 400],
] as const)('%s', async (_what, request, route, status) => {
  const series = `asr_http_requests_total{route="${route}",status="${status}",code="bad_request"}`;
  const before = [await count(series), api.log.length] as const;
  expect(String(await answerTo(request))).toMatch(
    new RegExp(`^HTTP/1.1 ${status} [^{]*{"error":"bad_request","message":"`),
  );
  await expect.poll(() => count(series)).toBe(before[0] + 1);
  const lines = api.log.slice(before[1]).filter((line) => line['msg'] === 'request');
  expect(lines).toMatchObject([
    { level: 30, route, status, outcome: 'error', code: 'bad_request', peer: '127.0.0.1' },
  ]);
});

test('a request that its client breaks off has an answer, and is none that was refused', async () => {
  const series = 'asr_http_requests_total{route="unknown",status="400",code="bad_request"}';
  const next = series.replace('400', '431');
  const before = [await count(series), await count(next), api.log.length] as const;
  const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
  socket.end('GET /healthz HTTP/1.1\r\nHost: x\r\n');
  expect(String((await once(socket, 'data'))[0])).toMatch('HTTP/1.1 400 ');
  // What is counted comes behind it.
  await answerTo(LARGE_HEADERS);
  await expect.poll(() => count(next)).toBe(before[1] + 1);
  expect(await count(series)).toBe(before[0]);
  expect(api.log.slice(before[2]).filter(({ route }) => route === 'unknown')).toMatchObject([
    { status: 431 },
  ]);
});

test.each([
  ['text that is no UTF-8', Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]), 1007],
  ['a frame without a mask', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 1002],
  ['an opcode that nobody knows', Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
])('a stream with %s', async (_what, frame, closeCode) => {
  const series = 'asr_stream_sessions_total{outcome="error",code="protocol_error"}';
  const before = [await count(series), api.log.length] as const;
  const answer = await answerTo(Buffer.concat([Buffer.from(handshake(KEY, '13')), frame]));
  // A close frame is the answer's end: 0x88, its length, the code.
  expect(answer.readUInt16BE(answer.lastIndexOf(0x88) + 2)).toBe(closeCode);
  await expect.poll(() => count(series)).toBe(before[0] + 1);
  const lines = api.log.slice(before[1]).filter((line) => line['msg'] === 'stream session');
  expect(lines).toMatchObject([{ outcome: 'error', code: 'protocol_error', reason: expect.any(String) }]);
  // It is the client's fault alone.
  expect(api.log.slice(before[1]).filter(({ level }) => Number(level) > 30)).toEqual([]);
});

test.each([
  [256, 'is read', [expect.stringContaining('"invalid_message"')]],
  [257, 'is cut off', []],
])('a message of %i fragments %s', async (fragments, _what, answers) => {
  const socket = new WebSocket(api.wsUrl);
  await once(socket, 'open');
  const received: string[] = [];
  socket.on('message', (data) => received.push(String(data)));
  // What is still being sent when the other side has ended.
  socket.on('error', () => undefined);
  for (let left = fragments - 1; left >= 0; left -= 1) socket.send('x', { fin: left === 0 });
  const [code] = await once(socket, 'close');
  expect([code, received]).toEqual([1008, answers]);
});

test.each([
  [1_048_576, 'is read', 1008],
  [1_048_577, 'is cut off', 1009],
])('a message of %i bytes %s', async (bytes, _what, closeCode) => {
  const socket = new WebSocket(api.wsUrl);
  await once(socket, 'open');
  socket.on('error', () => undefined);
  socket.send(Buffer.alloc(bytes));
  expect((await once(socket, 'close'))[0]).toBe(closeCode);
});

/** Node looks at these clocks once a second. */
async function connected(clocks: { headersTimeout?: number; requestTimeout?: number }) {
  const { config, services, metrics } = api;
  const app = await buildApp({ config, services, metrics, log: createLogger('silent', 'api'), keptMs: 0 });
  onTestFinished(() => app.close());
  expect(app.server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 40_000 });
  Object.assign(app.server, clocks);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const accepted = once(app.server, 'connection');
  const socket = connect(Number(new URL(app.listeningOrigin).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await Promise.all([accepted, once(socket, 'connect')]);
  return socket;
}

test('a refused upload whose body never comes does not keep its connection for ever', async () => {
  const socket = await connected({ headersTimeout: 200, requestTimeout: 200 });
  socket.write('POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n');
  let answers = '';
  socket.on('data', (data) => {
    answers += data.toString();
  });
  await once(socket, 'end');
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
});

describe('headers that come late', () => {
  const head = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';

  // A connection on which nothing ever comes, such as a browser makes in advance, is ended as well, and is no request.
  test.each([
    [head, 1],
    ['', 0],
  ])('are 408 timeout: behind %j', async (sent, requests) => {
    const series = 'asr_http_requests_total{route="unknown",status="408",code="timeout"}';
    const before = await count(series);
    const socket = await connected({ headersTimeout: 200 });
    if (sent !== '') socket.write(sent);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 408 [^{]*{"error":"timeout"/);
    expect(await count(series)).toBe(before + requests);
  });

  test.each([
    ['a request', `${head}\r\n`, '200'],
    ['a handshake', handshake(KEY, '13'), '101'],
  ])('are in time where the replica itself stood still: %s', async (_name, request, status) => {
    const socket = await connected({ headersTimeout: 200 });
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
    });
    socket.write(request);
    const stillUntilMs = performance.now() + 1_200;
    while (performance.now() < stillUntilMs);
    await once(socket, 'data');
    socket.end();
    await once(socket, 'close');
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
  });
});
