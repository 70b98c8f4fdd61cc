import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildApp } from '../../../api/app.ts';
import { createLogger } from '../../../common/log.ts';
import { RawConnection } from '../../fuzz/raw-connection.ts';
import { AUTHORIZED, startApi, type TestApi, TOKEN } from '../../support/api.ts';
import { filePart, form } from '../../support/form.ts';
import { startInference, type TestInference } from '../../support/inference.ts';
import { nothingLeft } from '../../support/nothing-left.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { scriptedPcm, scriptedText } from '../../support/scripted-recognizer.ts';
import { StreamClient } from '../../support/stream-client.ts';
import { wavFile } from '../../support/wav.ts';

/** Requests that a client sends without waiting for answers. */
let redis: TestRedis;
let api: TestApi;
let inference: TestInference;
const connections: RawConnection[] = [];

beforeAll(async () => {
  redis = await startRedis();
  inference = await startInference(redis.url);
  api = await startApi(redis.url);
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.destroy();
  await nothingLeft(redis);
});
afterAll(async () => {
  await api.stop();
  await inference.stop();
  await redis.stop();
});

async function sent(...requests: (Buffer | string)[]): Promise<RawConnection> {
  const connection = await RawConnection.open(Number(new URL(api.origin).port));
  connections.push(connection);
  connection.write(Buffer.concat(requests.map((request) => Buffer.from(request))));
  return connection;
}

function uploadOf(pcm: Buffer, headers = ''): Buffer {
  const { body, type } = form([filePart(wavFile(pcm))]);
  const head = `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}`;
  return Buffer.concat([
    Buffer.from(`${head}\r\n${headers}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`),
    body,
  ]);
}
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const asked = (path: string, times: number): string => get(path).repeat(times);
const FILE = '/api-docs/static/swagger-ui-bundle.js';
const offering = (protocol: string): string =>
  `GET /ws/asr HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;

test('they are served one after the other: a second upload does not find its own client busy', async () => {
  const recordings = [scriptedPcm(1, 1), scriptedPcm(1, 2)];
  const connection = await sent(...recordings.map((pcm) => uploadOf(pcm)));
  const answers = await connection.answersUntil(2);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const texts = answers.map(({ body }) => JSON.parse(body.toString('utf8')).text);
  expect(texts).toEqual(recordings.map((pcm) => scriptedText(pcm)));
});

test('broken HTTP behind complete requests is answered behind their answers', async () => {
  const recordings = [scriptedPcm(0.5, 1), scriptedPcm(0.5, 2)] as const;
  const held = inference.recognizer.hold();
  const chunked = `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\nnonsense`;
  const connection = await sent(uploadOf(recordings[0]), uploadOf(recordings[1]), chunked);
  await held.entered;
  // More that cannot be read does not bring a second answer, nor does each piece wait for itself.
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  for (let piece = 0; piece < 20; piece += 1) {
    connection.write('\r\nnonsense');
    await new Promise((resolve) => setImmediate(resolve));
  }
  held.release();
  await connection.untilClosed();
  const answers = connection.answers();
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400]);
  const texts = answers.slice(0, 2).map(({ body }) => JSON.parse(body.toString('utf8')).text);
  expect(texts).toEqual(recordings.map((pcm) => scriptedText(pcm)));
  expect(warnings).toEqual([]);
});

test('one that offers HTTP/2 waits for its turn like the others', async () => {
  const recordings = [scriptedPcm(1, 1), scriptedPcm(1, 2)] as const;
  const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n';
  const connection = await sent(uploadOf(recordings[0]), uploadOf(recordings[1], offer));
  const answers = await connection.answersUntil(2);
  const texts = answers.map(({ body }) => JSON.parse(body.toString('utf8')).text);
  expect(texts).toEqual(recordings.map((pcm) => scriptedText(pcm)));
});

test.each(['websocket', 'h2c'])(
  'a client that resets its connection while its offer of %s waits ends only itself',
  async (protocol) => {
    const isEnd = ({ code, route }: Record<string, unknown>) =>
      code === 'client_gone' && route === '/v1/audio/transcriptions';
    const gone = () => api.log.filter(isEnd).length;
    const before = gone();
    const held = inference.recognizer.hold();
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
    socket.write(uploadOf(scriptedPcm(0.5)));
    socket.write(offering(protocol));
    await held.entered;
    socket.resetAndDestroy();
    await expect.poll(() => gone()).toBe(before + 1);
    held.release();
  },
);

test('100 on one connection are answered, with one more that waits it is ended', async () => {
  const gate = inference.recognizer.hold();
  const most = await sent(uploadOf(scriptedPcm(0.5)), asked('/healthz', 99));
  await gate.entered;
  gate.release();
  const answers = await most.answersUntil(100);
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));

  const held = inference.recognizer.hold();
  const over = await sent(uploadOf(scriptedPcm(0.5)), asked('/healthz', 110));
  await over.untilClosed();
  expect(over.received).toHaveLength(0);
  const isEnd = (line: Record<string, unknown>) =>
    String(line['msg']).startsWith('a connection on which over 100 requests wait');
  await api.logged(isEnd);
  await held.entered;
  held.release();
  expect(api.log.filter(isEnd)).toHaveLength(1);
});

test.each([
  [200, 'waits for its turn'],
  [201, 'ends its connection'],
])('a request of %i headers behind another one %s', async (count, what) => {
  const held = inference.recognizer.hold();
  const headers = Array.from({ length: count - 1 }, (_, n) => `a${n}: 1\r\n`).join('');
  const connection = await sent(
    uploadOf(scriptedPcm(0.5)),
    `GET /healthz HTTP/1.1\r\nHost: x\r\n${headers}\r\n`,
  );
  await held.entered;
  if (what === 'ends its connection') {
    await connection.untilClosed();
    await api.logged((line) => String(line['msg']).includes('a request with over 200 headers waits'));
  }
  held.release();
  if (what === 'waits for its turn')
    expect((await connection.answersUntil(2)).map(({ status }) => status)).toEqual([200, 200]);
  connection.destroy();
});

const FILES = '/proc/self/fd';
test.skipIf(!existsSync(FILES))(
  'behind an answer that is not there yet nothing is opened, and nothing stays open when the client goes',
  async () => {
    const file = 'swagger-ui-bundle.js';
    const open = () =>
      readdirSync(FILES)
        .map((fd) => {
          try {
            return readlinkSync(`${FILES}/${fd}`);
          } catch {
            return ''; // of the reading itself
          }
        })
        .filter((path) => path.endsWith(file));
    const gate = inference.recognizer.hold();
    const connection = await sent(uploadOf(scriptedPcm(0.5)), asked(`/api-docs/static/${file}`, 50));
    await gate.entered;
    expect(open()).toEqual([]);
    connection.destroy();
    // Each is reported when it has ended, those that never had their turn too.
    const isEnd = (line: Record<string, unknown>) => line['route'] === '/api-docs/static/*';
    await expect.poll(() => api.log.filter(isEnd).length).toBe(50);
    expect(open()).toEqual([]);
    gate.release();
  },
);

test('an answer that its client does not go on to read ends its connection; a stream may be silent for longer', async () => {
  const impatient = await startApi(redis.url, {}, { unreadMs: 1_000 });
  const stream = await StreamClient.connect(impatient.wsUrl, AUTHORIZED);
  const socket = connect(Number(new URL(impatient.origin).port), '127.0.0.1').pause();
  await once(socket, 'connect');
  // More than the system's buffers hold.
  socket.write(asked(FILE, 50));
  await impatient.logged((line) => line['code'] === 'client_gone');
  socket.destroy();
  // Also the one whose head and first bytes, with status 200, had left.
  await expect
    .poll(() => impatient.log.filter((line) => line['route'] === '/api-docs/static/*').length)
    .toBe(50);
  for (const line of impatient.log.filter(({ code }) => code === 'client_gone'))
    expect(line).toMatchObject({ status: 499, outcome: 'disconnected' });
  stream.start();
  await stream.message('ready');
  stream.end();
  await stream.message('final');
  await impatient.stop();
});

describe.each(['websocket', 'h2c'])('in front of an offer of %s', (protocol) => {
  test('an answer of more than a socket takes at once arrives whole', async () => {
    const connection = await sent(get(FILE), offering(protocol));
    const [answer] = await connection.answersUntil(1);
    expect(String(answer?.body.length)).toBe(answer?.headers.get('content-length'));
  });

  test('one that its client does not go on to read ends its connection', async () => {
    const impatient = await startApi(redis.url, {}, { unreadMs: 1_000 });
    const socket = connect(Number(new URL(impatient.origin).port), '127.0.0.1').pause();
    await once(socket, 'connect');
    socket.write(asked(FILE, 5) + offering(protocol));
    await impatient.logged((line) => line['code'] === 'client_gone');
    socket.destroy();
    await impatient.stop();
  });

  test('one that does not come holds a shutdown for its time, and no longer', async () => {
    const ending = await startApi(redis.url, {}, { drainMs: 100 });
    const held = inference.recognizer.hold();
    const connection = await RawConnection.open(Number(new URL(ending.origin).port));
    connection.write(uploadOf(scriptedPcm(0.5)));
    connection.write(offering(protocol));
    await held.entered;
    const stopped = ending.stop();
    await connection.untilClosed();
    held.release();
    await stopped;
  });
});

test('a connection is silent for as long as the service itself may be: the body, then 60 s of recognition', async () => {
  const { config, services, metrics } = api;
  const app = await buildApp({ config, services, metrics, log: createLogger('silent', 'api'), keptMs: 0 });
  // Node looks once in that time, so it may take twice as long.
  expect(app.server.timeout).toBe(100_000);
  await app.close();
});
