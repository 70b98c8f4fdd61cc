import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StreamClient } from '../../../support/clients/stream-client.ts';
import { RedisMonitor } from '../../../support/redis/redis-monitor.ts';
import { TestService } from '../../../support/service/service.ts';

/** Clients that leave in the middle of a recording, each in its own way; the slot is the next one's. */
let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
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
  await service.slotFree();
  expect((await service.redis.keys()).filter((key) => key.includes(':session:'))).toEqual([]);
});

test('the results of one that is over are not read any more', async () => {
  const first = await service.ready();
  first.end();
  await first.message('final');
  const monitor = await RedisMonitor.start(service.redis);
  const reads: string[] = [];
  monitor.on('command', (command) => {
    if (command[0] === 'xread') reads.push(command.join(' '));
  });
  const second = await service.ready();
  const [over, begun] = [first, second].map(({ received }) => `${received[0]?.['session_id']}:results`);
  const itsReads = () => reads.filter((read) => read.includes(begun ?? ''));
  await expect.poll(() => itsReads().length).toBeGreaterThan(1);
  monitor.close();
  expect(itsReads().filter((read) => read.includes(over ?? ''))).toEqual([]);
});
