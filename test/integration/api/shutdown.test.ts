import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { KEPT_CONNECTIONS_MS } from '../../../api/http/in-flight.ts';
import type { ResultEntry } from '../../../common/sessions/entries.ts';
import { RawConnection } from '../../fuzz/raw-connection.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { filePart, form } from '../../support/clients/form.ts';
import { StreamClient } from '../../support/clients/stream-client.ts';
import { startRelay } from '../../support/machine/relay.ts';
import { startRedis, type TestRedis } from '../../support/redis/redis.ts';
import {
  AUTHORIZED,
  abandonedUpload,
  openStream,
  startApi,
  TOKEN,
  upload,
} from '../../support/service/api.ts';
import { startInference, type TestInference } from '../../support/service/inference.ts';
import { keysLeft, nothingLeft } from '../../support/service/nothing-left.ts';
import {
  type ScriptedRecognizer,
  scriptedPcm,
  scriptedText,
} from '../../support/service/scripted-recognizer.ts';

/** What a replica that ends does for its clients, and leaves in Redis: nothing. */
let redis: TestRedis;
let inference: TestInference;
let recognizer: ScriptedRecognizer;

beforeAll(async () => {
  redis = await startRedis();
  inference = await startInference(redis.url);
  recognizer = inference.recognizer;
});
afterEach(async () => {
  await nothingLeft(redis);
});
afterAll(async () => {
  await inference.stop();
  await redis.stop();
});

test('a shutdown waits for the recording under way and ends idle connections with 1001', async () => {
  const api = await startApi(redis.url);
  const idle = await StreamClient.connect(api.wsUrl, AUTHORIZED);
  const client = await openStream(api.wsUrl);
  const stopped = api.stop();
  expect(await idle.closed()).toBe(1001);
  // A load balancer takes another replica when this one takes no connection.
  const refused = new WebSocket(api.wsUrl);
  expect((await once(refused, 'error'))[0]).toMatchObject({ code: 'ECONNREFUSED' });
  client.audio(scriptedPcm(0.1));
  client.end();
  expect((await client.message('final'))['text']).toBe(scriptedText(scriptedPcm(0.1)));
  await stopped;
});

test('a recording that is not over in a shutdown’s time is ended with 1001, too', async () => {
  const api = await startApi(redis.url, {}, { drainMs: 100 });
  const client = await openStream(api.wsUrl);
  const stopped = api.stop();
  expect(await client.closed()).toBe(1001);
  await stopped;
});

test('a shutdown serves what a load balancer has just written into a connection that it keeps', async () => {
  const api = await startApi(redis.url, {}, { keptMs: KEPT_CONNECTIONS_MS });
  const connection = await RawConnection.open(Number(new URL(api.origin).port));
  const request = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  connection.write(request);
  await connection.answersUntil(1);
  const stopped = api.stop();
  connection.write(request);
  expect(await connection.answersUntil(2)).toMatchObject([{ status: 200 }, { status: 200 }]);
  await Promise.all([stopped, connection.untilClosed()]);
});

test('a shutdown that waits for a stream answers also an upload that has begun meanwhile', async () => {
  const api = await startApi(redis.url);
  const client = await openStream(api.wsUrl);
  const connection = await RawConnection.open(Number(new URL(api.origin).port));
  connection.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await connection.answersUntil(1);
  const stopped = api.stop();
  await sleep(50);
  const { body, type } = form([filePart(wavFile(scriptedPcm(0.1)))]);
  const head = `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}`;
  connection.write(`${head}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`);
  await sleep(50);
  client.end();
  await client.message('final');
  await sleep(50);
  connection.write(body);
  expect(await connection.answersUntil(2)).toMatchObject([{ status: 200 }, { status: 200 }]);
  await stopped;
});

test.each(['a stream', 'an upload'])(
  'a shutdown that has waited for %s serves the upload that its client sends next, on another kept connection',
  async (what) => {
    const api = await startApi(redis.url, {}, { keptMs: KEPT_CONNECTIONS_MS });
    const kept = await RawConnection.open(Number(new URL(api.origin).port));
    kept.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await kept.answersUntil(1);
    const gate = recognizer.hold();
    const wav = wavFile(scriptedPcm(0.1));
    const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
    let answered: Promise<unknown>;
    if (what === 'a stream') {
      client.start();
      await client.message('ready');
      client.audio(scriptedPcm(0.1));
      client.end();
      answered = client.message('final');
    } else answered = upload(api.origin, wav);
    await gate.entered;
    const stopped = api.stop();
    // Longer than kept connections are served at least.
    await sleep(2 * KEPT_CONNECTIONS_MS);
    gate.release();
    await answered;
    // As long as a client takes to send it.
    await sleep(20);
    const { body, type } = form([filePart(wav)]);
    const head = `POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}`;
    kept.write(`${head}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`);
    kept.write(body);
    expect(await kept.answersUntil(2)).toMatchObject([{ status: 200 }, { status: 200 }]);
    await stopped;
  },
);

test('a stream that comes on a kept connection then is ended with 1001, and not waited for', async () => {
  const api = await startApi(redis.url, {}, { keptMs: KEPT_CONNECTIONS_MS });
  const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
  let answers = Buffer.alloc(0);
  socket.on('data', (data) => {
    answers = Buffer.concat([answers, data]);
  });
  const closed = once(socket, 'close');
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  const stopped = api.stop();
  socket.write(
    'GET /ws/asr HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
  );
  // The frame that closes: 0x88, its length, the code.
  await expect.poll(() => answers.includes(Buffer.from([0x03, 0xe9]))).toBe(true);
  socket.destroy();
  await Promise.all([closed, stopped]);
});

test('a shutdown says of an upload under way that its connection ends behind the answer', async () => {
  const api = await startApi(redis.url);
  const gate = recognizer.hold();
  const answer = upload(api.origin, wavFile(scriptedPcm(0.1)));
  await gate.entered;
  const stopped = api.stop();
  gate.release();
  const { status, headers } = await answer;
  expect([status, headers.get('connection')]).toEqual([200, 'close']);
  await stopped;
});

describe('a shutdown in the turn in which the answer goes out removes what was left:', () => {
  test('of an upload', async () => {
    const { services, stop } = await startApi(redis.url);
    await services.transcriber.transcribe('an upload', scriptedPcm(0.1));
    for (const step of services.closing) await step.run();
    expect(await keysLeft(redis)).toEqual([]);
    await stop();
  });

  test('of a stream', async () => {
    const { services, stop } = await startApi(redis.url);
    let onResult = (_entry: ResultEntry): void => undefined;
    const active = await services.streams.open('a stream', 'preauthorized', {
      onResult: (entry) => onResult(entry),
      onFailure: (failure) => expect.unreachable(String(failure)),
    });
    await new Promise<void>((resolve) => {
      onResult = ({ kind }) => kind === 'final' && resolve();
      void active.end();
    });
    active.done();
    for (const step of services.closing) await step.run();
    expect(await keysLeft(redis)).toEqual([]);
    await stop();
  });
});

test('a shutdown removes also what an upload leaves whose client has hung up', async () => {
  const api = await startApi(redis.url);
  const gate = await abandonedUpload(api.origin, recognizer);
  let isStopped = false;
  const stopped = (async () => {
    for (const step of api.services.closing) await step.run();
    isStopped = true;
  })();
  // By its answer the others of that moment have theirs, if they waited for nothing else.
  await redis.client.ping();
  expect(isStopped).toBe(false);
  gate.release();
  await stopped;
  expect(await keysLeft(redis)).toEqual([]);
  await api.stop();
});

test('a shutdown gives back the slot of a client that hung up before its stream was ready', async () => {
  const relay = await startRelay(redis.port, 200);
  onTestFinished(() => relay.stop());
  const api = await startApi(`redis://127.0.0.1:${relay.port}`);
  const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
  client.start();
  await expect.poll(() => redis.client.exists('{asr}:slot'), { interval: 5 }).toBe(1);
  client.terminate();
  await api.logged((line) => line['outcome'] === 'disconnected');
  await api.stop();
  expect(await keysLeft(redis)).toEqual([]);
});

test('a shutdown does not reset a refused upload whose body still comes', async () => {
  const api = await startApi(redis.url);
  const socket = connect(Number(new URL(api.origin).port), '127.0.0.1');
  const closed = once(socket, 'close');
  socket.write('POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\n');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
  const stopped = api.stop();
  for (let bytes = 0; bytes < 600; bytes += 100) {
    await sleep(100);
    expect(socket.destroyed).toBe(false);
    socket.write(Buffer.alloc(100));
  }
  await Promise.all([closed, stopped]);
});

test('a shutdown does not wait for a connection whose request had its body behind the answer', async () => {
  const api = await startApi(redis.url);
  const connection = await RawConnection.open(Number(new URL(api.origin).port));
  connection.write('GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n');
  expect(await connection.answersUntil(1)).toMatchObject([{ status: 200 }]);
  connection.write('{}');
  await Promise.all([api.stop(), connection.untilClosed()]);
});
