import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { STREAM_TIMEOUTS } from '../../../api/stream-clocks.ts';
import { AUTHORIZED, startApi, type TestApi } from '../../support/api.ts';
import { startInference, type TestInference } from '../../support/inference.ts';
import { nothingLeft } from '../../support/nothing-left.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { StreamClient } from '../../support/stream-client.ts';

/** The clocks are shortened; which clock runs when is what is tested. */
const timeouts = { messageMs: 400, sessionMs: 1_000 };
let redis: TestRedis;
let api: TestApi;
let inference: TestInference;
const clients: StreamClient[] = [];

beforeAll(async () => {
  redis = await startRedis();
  inference = await startInference(redis.url);
  api = await startApi(redis.url, {}, { streamTimeouts: timeouts });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.terminate();
  await nothingLeft(redis, 1_000);
});
afterAll(async () => {
  await api.stop();
  await inference.stop();
  await redis.stop();
});

async function connect(): Promise<StreamClient> {
  const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
  clients.push(client);
  return client;
}

test('the interface says about 10 s for messages and about 40 s for the session', () => {
  expect(STREAM_TIMEOUTS).toEqual({ messageMs: 10_000, sessionMs: 40_000 });
});

test('no first message → timeout, 1008', async () => {
  const client = await connect();
  const connectedAt = performance.now();
  expect(await client.message('error')).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('start'),
  });
  expect(performance.now() - connectedAt).toBeGreaterThan(timeouts.messageMs * 0.9);
  expect(await client.closed()).toBe(1008);
});

test('a gap between messages → timeout, 1008, and the slot is free', async () => {
  const client = await connect();
  client.start();
  await client.message('ready');
  client.audio(Buffer.alloc(3_200));
  expect(await client.message('error')).toMatchObject({ code: 'timeout' });
  expect(await client.closed()).toBe(1008);
});

test('messages keep the gap away, the whole session ends all the same', async () => {
  const client = await connect();
  client.start();
  await client.message('ready');
  const readyAt = performance.now();
  const sending = setInterval(() => client.audio(Buffer.alloc(2)), 100);
  const error = await client.message('error');
  clearInterval(sending);
  expect(error).toMatchObject({ code: 'timeout', message: expect.stringContaining('1 s') });
  expect(performance.now() - readyAt).toBeGreaterThan(timeouts.sessionMs * 0.9);
  expect(await client.closed()).toBe(1008);
});

test('the wait for the final is no gap, but the session clock runs on', async () => {
  const gate = inference.recognizer.hold();
  const client = await connect();
  client.start();
  await client.message('ready');
  client.audio(Buffer.alloc(3_200));
  client.end();
  const endedAt = performance.now();
  await gate.entered;
  expect(await client.message('error')).toMatchObject({ code: 'timeout' });
  expect(performance.now() - endedAt).toBeGreaterThan(timeouts.messageMs);
  gate.release();
});
