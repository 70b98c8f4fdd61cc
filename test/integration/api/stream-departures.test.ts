import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { AUTHORIZED, startApi, type TestApi } from '../../support/api.ts';
import { startInference, type TestInference } from '../../support/inference.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { StreamClient } from '../../support/stream-client.ts';

/** Clients that leave in the middle of a recording, each in its own way; the slot is the next one's. */
let redis: TestRedis;
let api: TestApi;
let inference: TestInference;
const clients: StreamClient[] = [];

beforeAll(async () => {
  redis = await startRedis();
  inference = await startInference(redis.url);
  api = await startApi(redis.url);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.terminate();
});
afterAll(async () => {
  await api.stop();
  await inference.stop();
  await redis.stop();
});

async function recording(): Promise<StreamClient> {
  const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
  clients.push(client);
  client.start();
  await client.message('ready');
  client.audio(Buffer.alloc(3_200));
  return client;
}

test.each([
  ['says that it closes', (client: StreamClient) => client.close()],
  ['breaks the WebSocket protocol', (client: StreamClient) => client.text(Buffer.from([0xc3, 0x28]))],
])('one that %s has left, also while its connection stays open', async (_name, leave) => {
  const client = await recording();
  client.stopReading();
  leave(client);
  await expect
    .poll(() => redis.keys('{asr}:s*'), { interval: 5, timeout: 2_000 })
    .not.toContain('{asr}:slot');
  expect((await redis.keys()).filter((key) => key.includes(':session:'))).toEqual([]);
});
