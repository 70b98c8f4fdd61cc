import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { fastify } from 'fastify';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { buildApp } from '../../../../api/app.ts';
import { Connections } from '../../../../api/http/connections.ts';
import { createLogger } from '../../../../common/process/log.ts';
import { RawConnection } from '../../../fuzz/raw-connection.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { filePart, form } from '../../../support/clients/form.ts';
import { StreamClient } from '../../../support/clients/stream-client.ts';
import { AUTHORIZED, startApi, type TestApi, TOKEN } from '../../../support/service/api.ts';
import { nothingLeft } from '../../../support/service/nothing-left.ts';
import { scriptedPcm, scriptedText } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

/** What a client may send on one connection: a request, its answer, the next request. */
let service: TestService;
const connections: RawConnection[] = [];

beforeAll(async () => {
  service = await TestService.start();
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await nothingLeft(service.redis);
});
afterAll(() => service.stop());

const portOf = ({ origin }: TestApi): number => Number(new URL(origin).port);

async function sent(to: number, ...requests: (Buffer | string)[]): Promise<RawConnection> {
  const connection = await RawConnection.open(to);
  connections.push(connection);
  connection.write(Buffer.concat(requests.map((request) => Buffer.from(request))));
  return connection;
}

const PCM = scriptedPcm(0.5);
const UPLOAD = `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n`;
function uploadOf(pcm: Buffer, headers = ''): Buffer {
  const { body, type } = form([filePart(wavFile(pcm))]);
  const head = `${UPLOAD}${headers}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n';
const HANDSHAKE = get(
  '/ws/asr',
  `Authorization: Bearer ${TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`,
);
/** A file of over a megabyte. */
const FILE = '/api-docs/static/swagger-ui-bundle.js';
const MANY_HEADERS = 'a:b\r\n'.repeat(2_500);

/** What a client may send before it has its answer. */
const TOO_EARLY: readonly (readonly [string, string | Buffer])[] = [
  ['another upload', uploadOf(PCM)],
  ['20 MB of requests', get(FILE).repeat(300_000)],
  ['a request of thousands of headers', get('/', MANY_HEADERS)],
  ['a WebSocket handshake', HANDSHAKE],
  ['an offer of HTTP/2', get('/healthz', H2C)],
  ['what is no HTTP', 'no HTTP\r\n\r\n'],
];
const noWarnings = (): void => {
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  onTestFinished(() => {
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });
};

test.each(TOO_EARLY)('in front of %s an upload is answered, as the last one', async (_name, early) => {
  noWarnings();
  const before = service.api.log.length;
  const held = service.inference.recognizer.hold();
  const connection = await sent(portOf(service.api), uploadOf(PCM), early);
  await held.entered;
  for (let piece = 0; piece < 20; piece += 1) {
    connection.write(early.slice(0, 100));
    await new Promise((resolve) => setImmediate(resolve));
  }
  held.release();
  await connection.untilClosed();
  const [answer, ...others] = connection.answers();
  expect(others).toEqual([]);
  expect([answer?.status, answer?.headers.get('connection')]).toEqual([200, 'close']);
  expect(JSON.parse(String(answer?.body)).text).toBe(scriptedText(PCM));
  const served = service.api.log
    .slice(before)
    .filter(({ msg }) => msg === 'request' || msg === 'stream session');
  expect(served).toMatchObject([{ route: '/v1/audio/transcriptions', status: 200 }]);
});

test.each(TOO_EARLY)('a client that hangs up behind %s ends only itself', async (_name, early) => {
  const ended = () => service.api.log.filter(({ route }) => route === '/v1/audio/transcriptions').length;
  const before = ended();
  const held = service.inference.recognizer.hold();
  const socket = connect(portOf(service.api), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(uploadOf(PCM));
  socket.write(early);
  await held.entered;
  socket.resetAndDestroy();
  held.release();
  await expect.poll(ended).toBe(before + 1);
  await nothingLeft(service.redis);
  const next = await sent(portOf(service.api), uploadOf(PCM));
  expect(await next.answersUntil(1)).toMatchObject([{ status: 200 }]);
});

test.each(['', HANDSHAKE])(
  'a client that ends its side behind an upload and %j still gets the answer',
  async (early) => {
    const held = service.inference.recognizer.hold();
    const connection = await sent(portOf(service.api), uploadOf(PCM), early);
    connection.end();
    await held.entered;
    // By then its end has come.
    const other = await sent(portOf(service.api), get('/healthz'));
    await other.answersUntil(1);
    held.release();
    await connection.untilClosed();
    expect(connection.answers()).toMatchObject([{ status: 200 }]);
  },
);

test.each([
  ['a question', get('/healthz'), 200],
  ['a question of HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n', 200],
  ['a large file', get(FILE), 200],
  ['an offer of HTTP/2', get('/healthz', H2C), 200],
  ['no token', 'POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx', 401],
  ['a handshake that is refused', HANDSHAKE.replace(TOKEN, 'wrong'), 403],
] as const)('so does one behind %s', async (_name, request, status) => {
  const connection = await sent(portOf(service.api), request);
  connection.end();
  await connection.untilClosed();
  expect(connection.answers()).toMatchObject([{ status }]);
});

test('in front of another upload an answer that does not come holds a shutdown no longer', async () => {
  const ending = await startApi(service.redis.url, {}, { drainMs: 100 });
  const held = service.inference.recognizer.hold();
  const connection = await sent(portOf(ending), uploadOf(PCM), uploadOf(PCM));
  await held.entered;
  const stopped = ending.stop();
  await connection.untilClosed();
  held.release();
  await stopped;
});

/** The head and the first half of the only answer have left. */
test.each(TOO_EARLY)(
  'in front of %s an answer under way arrives whole, and little is read behind it',
  async (_name, early) => {
    const heard = new Connections();
    const app = fastify({
      clientErrorHandler: (error, socket) => void heard.broken(error, socket, () => expect.unreachable()),
    });
    heard.watch(app.server);
    app.addHook('onRequest', heard.dropLate);
    const rest = new PassThrough();
    app.get('/', (_request, reply) => reply.header('content-length', 8).send(rest));
    let requests = 0;
    app.server.on('request', () => {
      requests += 1;
    });
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => app.close());
    const accepted: Promise<Socket[]> = once(app.server, 'connection');
    const connection = await sent(Number(new URL(origin).port), get('/'));
    const [socket] = await accepted;
    rest.write('half');
    while (!connection.received.includes('half')) await connection.change();
    const readBefore = socket?.bytesRead;
    connection.write(early);
    await expect.poll(() => socket?.bytesRead).not.toBe(readBefore);
    rest.end('rest');
    await connection.untilClosed();
    expect(connection.answers().map(({ body }) => String(body))).toEqual(['halfrest']);
    // What the parser is given at once.
    expect(requests).toBeLessThan(65_536 / get(FILE).length + 2);
  },
);

test.each([
  ['a question', get('/readyz', `${H2C}Authorization: Bearer ${TOKEN}\r\n`), 200],
  ['an upload', uploadOf(PCM, H2C), 200],
  ['an upload of a body like a request', `${UPLOAD}${H2C}Content-Length: 35\r\n\r\n${get('/healthz')}`, 422],
  ['thousands of headers', `${UPLOAD}${H2C}${MANY_HEADERS}Content-Length: 35\r\n\r\n${get('/healthz')}`, 422],
  ['a request that is the last one', get('/healthz', 'Connection: close, Upgrade\r\nUpgrade: h2c\r\n'), 200],
])('an offer of HTTP/2 is ignored: %s is answered, as the last one', async (_name, request, status) => {
  const connection = await sent(portOf(service.api), request, get('/healthz'));
  await connection.untilClosed();
  const answers = connection.answers();
  expect(answers.map((answer) => [answer.status, answer.headers.get('connection')])).toEqual([
    [status, 'close'],
  ]);
});

test('an answer that its client does not go on to read ends its connection; a stream may be silent for longer', async () => {
  const impatient = await startApi(service.redis.url, {}, { unreadMs: 1_000 });
  const stream = await StreamClient.connect(impatient.wsUrl, AUTHORIZED);
  const socket = connect(portOf(impatient), '127.0.0.1').pause();
  await once(socket, 'connect');
  const ends = () => impatient.log.filter(({ route }) => route === '/api-docs/static/*');
  // Until the system's buffers are full.
  for (let files = 1; ends().every(({ code }) => code === undefined); files += 1) {
    socket.write(get(FILE));
    await expect.poll(() => ends().length, { timeout: 5_000 }).toBe(files);
  }
  socket.destroy();
  // The head and the first bytes, with status 200, had left.
  expect(ends().at(-1)).toMatchObject({ code: 'client_gone', status: 499, outcome: 'disconnected' });
  stream.start();
  await stream.message('ready');
  stream.end();
  await stream.message('final');
  await impatient.stop();
});

test('a connection is silent for as long as the service itself may be: the body, then 60 s of recognition', async () => {
  const { config, services, metrics } = service.api;
  const app = await buildApp({ config, services, metrics, log: createLogger('silent', 'api'), keptMs: 0 });
  // Node looks once in that time, so it may take twice as long.
  expect(app.server.timeout).toBe(100_000);
  await app.close();
});
