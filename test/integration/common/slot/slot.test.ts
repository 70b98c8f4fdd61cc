import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../../../common/process/log.ts';
import { readSlotHolder, Slot, slotHolder } from '../../../../common/slot/slot.ts';
import { RedisKeys } from '../../../../common/store/keys.ts';
import { ExclusiveRun } from '../../../../inference/model/exclusive-run.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { ScriptedRecognizer } from '../../../support/service/scripted-recognizer.ts';

let redis: TestRedis;
let slot: Slot;
const keys = new RedisKeys('{asr}');
const holder = (id: string) =>
  slotHolder({ id, via: 'http', replica: 'host:1', since: '2026-01-01T00:00:00.000Z' });
const [a, b] = [holder('a'), holder('b')];

beforeAll(async () => {
  redis = await startRedis();
  slot = new Slot(redis.store);
});
afterAll(() => redis.stop());
beforeEach(() => redis.client.flushall());

test('one holder at a time; the value reads as JSON', async () => {
  expect(await slot.acquire(a)).toBeGreaterThan(0);
  expect(await slot.acquire(b)).toBeUndefined();
  const value = await redis.client.get('{asr}:slot');
  expect(JSON.parse(value ?? '')).toEqual({
    id: 'a',
    via: 'http',
    replica: 'host:1',
    since: '2026-01-01T00:00:00.000Z',
  });
  expect(readSlotHolder(value ?? '')?.id).toBe('a');
  for (const strange of [
    'what is this',
    'null',
    '5',
    '"http"',
    '{"id":5,"via":"http"}',
    '{"id":"a","via":"x"}',
  ])
    expect(readSlotHolder(strange), strange).toBeUndefined();
});

test('the key has a TTL of 5 s from its first moment', async () => {
  await slot.acquire(a);
  const ttlMs = await redis.client.pttl('{asr}:slot');
  expect(ttlMs).toBeGreaterThan(4_000);
  expect(ttlMs).toBeLessThanOrEqual(5_000);
});

test('acquire sent twice gives the same fence and extends; the fence grows with every new acquisition', async () => {
  // Over the clock, which is the fence otherwise, it grows by one.
  await slot.raiseFence((Date.now() + 3_600_000) * 1_000);
  const first = await slot.acquire(a);
  await redis.client.pexpire(keys.slot, 100);
  expect(await slot.acquire(a)).toBe(first);
  expect(await redis.client.pttl(keys.slot)).toBeGreaterThan(1_000);
  await slot.release(a);
  expect(await slot.acquire(b)).toBe((first ?? 0) + 1);
});

test.each([
  ['over an emptied Redis', () => redis.client.flushall()],
  ['when a failover has lost the last writes', () => redis.client.set(keys.fence, '1')],
])('the fence grows also %s', async (_, lose) => {
  const last = await slot.acquire(a);
  await slot.release(a);
  await lose();
  expect(await slot.acquire(b)).toBeGreaterThan(last ?? Number.POSITIVE_INFINITY);
});

test('the fence grows also with a clock that is behind, and over one that was seen', async () => {
  const ahead = (Date.now() + 3_600_000) * 1_000;
  await slot.raiseFence(ahead);
  expect(await slot.acquire(a)).toBe(ahead + 1);
  await slot.raiseFence(ahead);
  await slot.release(a);
  expect(await slot.acquire(b)).toBe(ahead + 2);
});

test('renew and release compare the whole value', async () => {
  await slot.acquire(a);
  const sameIdOtherTime = a.replace('00.000Z', '01.000Z');
  expect(await slot.renew(sameIdOtherTime)).toBe(false);
  expect(await slot.release(sameIdOtherTime)).toBe(false);
  expect(await slot.holder()).toBe(a);
  expect(await slot.release(a)).toBe(true);
  expect(await slot.release(a)).toBe(false);
  expect(await slot.renew(a)).toBe(false);
  expect(await slot.holder()).toBeUndefined();
});

test('a model call keeps the slot, and never for shorter than its replica has it', async () => {
  await slot.acquire(a);
  await slot.hold(a, 'one', true);
  expect(await redis.client.pttl(keys.slot)).toBeGreaterThan(4_000);
  await redis.client.pexpire(keys.slot, 50);
  await slot.hold(a, 'one', true);
  expect(await redis.client.pttl(keys.slot)).toBeGreaterThan(1_000);
});

test('a model call takes the slot again that ran out with it, and no other', async () => {
  await slot.acquire(a);
  await redis.client.set(keys.upload('a'), 'samples');
  await slot.hold(a, 'one', false);
  // Redis has stood still.
  await redis.client.del(keys.slot, keys.modelCall);
  await slot.hold(a, 'one', true);
  expect(await slot.holder()).toBe(a);
  // An operator has taken it away.
  await slot.release(a);
  await slot.hold(a, 'one', true);
  expect(await slot.holder()).toBeUndefined();
  await slot.callEnded('one');
  await slot.hold(a, 'one', false);
  expect(await slot.holder()).toBeUndefined();
  await slot.callEnded('one');
  await slot.acquire(b);
  await redis.client.pexpire(keys.slot, 1_000);
  await slot.hold(a, 'one', true);
  expect(await slot.holder()).toBe(b);
  expect(await redis.client.pttl(keys.slot)).toBeLessThanOrEqual(1_000);
});

test.each(['http', 'ws'] as const)(
  'a model call takes no slot again for work that is over (%s)',
  async (via) => {
    const work = slotHolder({ id: 'a', via, replica: 'host:1', since: '2026-01-01T00:00:00.000Z' });
    const audio = via === 'http' ? keys.upload('a') : keys.audio('a');
    await slot.hold(work, 'one', true);
    expect(await slot.holder()).toBeUndefined();
    await slot.callEnded('one');
    await redis.client.set(audio, 'audio');
    await slot.hold(work, 'one', true);
    expect(await slot.holder()).toBe(work);
  },
);

test('one process at a time is in a model call', async () => {
  await slot.hold(a, 'one', false);
  expect(await redis.client.pttl(keys.modelCall)).toBeGreaterThan(0);
  expect(await slot.hold(a, 'two', false)).toBe(false);
  await slot.callEnded('two');
  expect(await slot.hold(a, 'two', false)).toBe(false);
  await slot.callEnded('one');
  expect(await slot.hold(a, 'two', false)).toBe(true);
});

describe('model calls', () => {
  // Its commands go over the connection that is asked here, which keeps the order.
  const model = (): ExclusiveRun =>
    new ExclusiveRun(
      new ScriptedRecognizer(),
      slot,
      'one',
      createLogger('silent', 'inference'),
      () => undefined,
    );

  test('a process is in one from its first moment to the end of the last one, and no longer', async () => {
    const calls = model();
    await calls.run({ holder: a, fence: 1 }, async () => {
      expect(await slot.caller()).toBe('one');
      await calls.run({ holder: a, fence: 1 }, async () => undefined);
      expect(await slot.caller()).toBe('one');
    });
    expect(await slot.caller()).toBeUndefined();
  });
});

test.each([
  ['renew', () => slot.renew(a)],
  ['a model call', () => slot.hold(a, 'one', true)],
] as const)('%s takes back what a clock that was set back has added to the TTL', async (_name, keep) => {
  await slot.acquire(a);
  // Redis keeps the time at which a key ends.
  await redis.client.pexpire(keys.slot, 3_600_000);
  await keep();
  expect(await redis.client.pttl(keys.slot)).toBeLessThanOrEqual(5_000);
});

test('of fifty contenders one gets it', async () => {
  const fences = await Promise.all(
    Array.from({ length: 50 }, (_, index) => slot.acquire(holder(`contender ${index}`))),
  );
  expect(fences.filter((fence) => fence !== undefined)).toHaveLength(1);
});

test('the scripts survive SCRIPT FLUSH', async () => {
  await slot.acquire(a);
  await redis.client.script('FLUSH');
  expect(await slot.renew(a)).toBe(true);
  expect(await slot.release(a)).toBe(true);
});
