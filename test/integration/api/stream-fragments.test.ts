import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startApi, type TestApi } from '../../support/api.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

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

test.each([
  [4_096, 'is read', [expect.stringContaining('"invalid_message"')]],
  [4_097, 'is cut off', []],
])('a message of %i fragments %s', async (count, _what, answers) => {
  const socket = new WebSocket(api.wsUrl);
  await once(socket, 'open');
  const received: string[] = [];
  socket.on('message', (data) => received.push(String(data)));
  // What is still being sent when the other side has ended.
  socket.on('error', () => undefined);
  for (let left = count - 1; left >= 0; left -= 1) socket.send('x', { fin: left === 0 });
  const [code] = await once(socket, 'close');
  expect([code, received]).toEqual([1008, answers]);
});
