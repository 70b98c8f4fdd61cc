import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { STREAM_TIMEOUTS } from '../../../api/streams/stream-clocks.ts';
import { SLOT_RENEW_MS } from '../../../common/slot/slot.ts';
import { RedisMonitor } from '../../support/redis-monitor.ts';
import { TestService } from '../../support/service.ts';
import type { StreamClient } from '../../support/stream-client.ts';

/** Clients that leave in the middle of a recording, each in its own way; the slot is the next one's. */
let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
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
  await service.slotFree();
  expect((await service.redis.keys()).filter((key) => key.includes(':session:'))).toEqual([]);
});

test.each([
  ['has its final', (client: StreamClient) => client.message('final')],
  ['has left behind its "end"', async (client: StreamClient) => client.terminate()],
])(
  'nothing goes on for one that %s: no renewal of the slot, no look who is left, no repetition of the end, no clock',
  async (_name, leave) => {
    const intervals = vi.spyOn(globalThis, 'setInterval');
    const timeouts = vi.spyOn(globalThis, 'setTimeout');
    const clears = [vi.spyOn(globalThis, 'clearInterval'), vi.spyOn(globalThis, 'clearTimeout')];
    const client = await service.ready();
    client.end();
    await leave(client);
    await service.api.logged((line) => line['sessionId'] === client.received[0]?.['session_id']);
    const begun = ({ mock }: typeof intervals | typeof timeouts, ms: number): unknown[] =>
      mock.results.filter((_, call) => mock.calls[call]?.[1] === ms).map(({ value }) => value);
    const { messageMs, sessionMs } = STREAM_TIMEOUTS;
    const everySecond = begun(intervals, SLOT_RENEW_MS);
    const clocks = [...begun(timeouts, messageMs), ...begun(timeouts, sessionMs)];
    expect([everySecond.length, clocks.length]).toEqual([3, 3]);
    const ended = new Set(clears.flatMap(({ mock }) => mock.calls.map(([timer]): unknown => timer)));
    expect([...everySecond, ...clocks].filter((timer) => !ended.has(timer))).toEqual([]);
  },
);

test('nor are the results of one that is over read any more', async () => {
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
