import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { SLOT_RENEW_MS } from '../../../common/slot/slot.ts';
import type { StreamClient } from '../../support/stream-client.ts';
import { StreamService } from './stream-service.ts';

/** Clients that leave in the middle of a recording, each in its own way; the slot is the next one's. */
let service: StreamService;
beforeAll(async () => {
  service = await StreamService.start();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await service.expectNothingLeft();
});
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

test.each([
  ['has its final', (client: StreamClient) => client.message('final')],
  ['has left behind its "end"', async (client: StreamClient) => client.terminate()],
])(
  'nothing goes on for one that %s: neither the renewals of the slot nor the repetitions of the end',
  async (_name, leave) => {
    const set = vi.spyOn(globalThis, 'setInterval');
    const cleared = vi.spyOn(globalThis, 'clearInterval');
    const client = await service.ready();
    client.end();
    await leave(client);
    await service.api.logged((line) => line['sessionId'] === client.received[0]?.['session_id']);
    const renewals = set.mock.results.filter((_, call) => set.mock.calls[call]?.[1] === SLOT_RENEW_MS);
    expect(renewals).toHaveLength(2);
    for (const { value } of renewals) expect(cleared).toHaveBeenCalledWith(value);
  },
);
