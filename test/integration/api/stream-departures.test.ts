import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StreamClient } from '../../support/stream-client.ts';
import { StreamService } from './stream-service.ts';

/** Clients that leave in the middle of a recording, each in its own way; the slot is the next one's. */
let service: StreamService;
beforeAll(async () => {
  service = await StreamService.start();
});
afterEach(() => service.expectNothingLeft());
afterAll(() => service.stop());

test.each([
  ['says that it closes', (client: StreamClient) => client.close()],
  ['breaks the WebSocket protocol', (client: StreamClient) => client.text(Buffer.from([0xc3, 0x28]))],
])('one that %s has left, also while its connection stays open', async (_name, leave) => {
  const client = await service.ready();
  client.audio(Buffer.alloc(3_200));
  client.stopReading();
  leave(client);
  await expect
    .poll(() => service.redis.keys('{asr}:s*'), { interval: 5, timeout: 2_000 })
    .not.toContain('{asr}:slot');
  expect((await service.redis.keys()).filter((key) => key.includes(':session:'))).toEqual([]);
});
