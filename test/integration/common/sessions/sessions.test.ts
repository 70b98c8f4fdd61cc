import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { RedisKeys } from '../../../../common/redis/keys.ts';
import {
  LEASE_TTL_MS,
  MalformedEntry,
  parseResultEntry,
  SESSION_KEYS_TTL_MS,
} from '../../../../common/sessions/entries.ts';
import { SessionConsumer } from '../../../../common/sessions/session-consumer.ts';
import { SessionProducer, SessionProducerScripts } from '../../../../common/sessions/session-producer.ts';
import { CALL_SLOT_TTL_MS, Slot, type SlotHolder, slotHolder } from '../../../../common/slot/slot.ts';
import { startRedis, type TestRedis } from '../../../support/redis.ts';

/** What the headers of `common/sessions/*.lua` promise, one promise a test. */

let redis: TestRedis;
let slot: Slot;
let consumer: SessionConsumer;
const keys = new RedisKeys('{asr}');
const [audio, lease, results] = [keys.audio('a'), keys.lease('a'), keys.results('a')];
const holderOf = (id: string): SlotHolder =>
  slotHolder({ id, via: 'ws', replica: 'host:1', since: '2026-01-01T00:00:00.000Z' });
const [a, b] = [holderOf('a'), holderOf('b')];
const PARTIAL = { kind: 'partial', takenBytes: 640, revision: 1, text: '你好' } as const;
const FINAL = { kind: 'final', takenBytes: 640, revision: 2, text: '你好吗' } as const;

const producer = (): SessionProducer =>
  new SessionProducer(redis.client, keys, new SessionProducerScripts(), 'a', a);

/** The slot goes over from one to the other. */
async function passSlot(from: SlotHolder, to: SlotHolder): Promise<void> {
  await slot.release(from);
  await slot.acquire(to);
}

/** A session with the slot, opened. */
async function opened(): Promise<SessionProducer> {
  const session = producer();
  const fence = await slot.acquire(a);
  expect(await session.open(fence ?? 0)).toBe(true);
  return session;
}

/** One that a process works on. */
async function claimed(token = 'one'): Promise<SessionProducer> {
  const session = await opened();
  expect(await consumer.claim('a', a, token)).toBe(true);
  return session;
}

async function expectTtl(key: string, ttlMs: number): Promise<void> {
  const leftMs = await redis.client.pttl(key);
  expect(leftMs, key).toBeGreaterThan(ttlMs / 2);
  expect(leftMs, key).toBeLessThanOrEqual(ttlMs);
}

beforeAll(async () => {
  redis = await startRedis();
  slot = new Slot(redis.client, keys);
  consumer = new SessionConsumer(redis.client, keys);
});
afterAll(() => redis.stop());
beforeEach(() => redis.client.flushall());

test('a session is opened with its fence and announced; every key has a TTL from its first write', async () => {
  await opened();
  const fence = Number(await redis.client.get(keys.fence));
  expect((await consumer.audio(redis.client, 'a', '0', 0))[0]).toMatchObject({ kind: 'open', fence });
  expect(await redis.client.xrange(keys.sessions, '-', '+')).toEqual([
    [expect.any(String), ['id', 'a', 'holder', a]],
  ]);
  await expectTtl(audio, 60_000);
  await expectTtl(keys.sessions, SESSION_KEYS_TTL_MS);
  await consumer.claim('a', a, 'one');
  await expectTtl(lease, LEASE_TTL_MS);
  await expectTtl(results, SESSION_KEYS_TTL_MS);
});

test('an announcement that was seen ends no further wait', async () => {
  await opened();
  const seen = await consumer.announced(redis.client, '0', 1);
  expect(seen).toBe((await redis.client.xrange(keys.sessions, '-', '+'))[0]?.[0]);
  expect(await consumer.announced(redis.client, seen, 1)).toBe(seen);
});

test('without the slot no session is opened', async () => {
  await slot.acquire(b);
  expect(await producer().open(1)).toBe(false);
  expect(await redis.keys('*session*')).toEqual([]);
});

test('opened twice, as after a lost reply, it is one session, announced once', async () => {
  const session = await opened();
  expect(await session.open(7)).toBe(true);
  expect(await redis.client.xlen(audio)).toBe(1);
  expect(await redis.client.xlen(keys.sessions)).toBe(1);
});

test('under a load that never pauses the announcements do not pile up', async () => {
  const scripts = new SessionProducerScripts();
  for (let n = 0; n < 500; n += 1) {
    const session = new SessionProducer(redis.client, keys, scripts, `${n}`, a);
    await session.open((await slot.acquire(a)) ?? 0);
    await session.abort();
  }
  expect(await redis.client.xlen(keys.sessions)).toBeLessThan(250);
});

test('a frame sent twice is one entry; one that comes after the end of the session makes no key', async () => {
  const session = await opened();
  const pcm = Buffer.alloc(640, 1);
  expect(await session.append(pcm)).toBe(true);
  // Another sends what this one has sent, with the same number.
  expect(await producer().append(pcm)).toBe(true);
  expect(await redis.client.xlen(audio)).toBe(2);
  await session.abort();
  expect(await session.append(pcm)).toBe(false);
  expect(await redis.client.exists(audio)).toBe(0);
});

test('one process has the lease; sent twice, a claim extends it and is said once', async () => {
  await claimed('one');
  expect(await consumer.claim('a', a, 'two')).toBe(false);
  await redis.client.pexpire(lease, 100);
  expect(await consumer.claim('a', a, 'one')).toBe(true);
  await expectTtl(lease, LEASE_TTL_MS);
  expect(await consumer.results('a')).toEqual([{ kind: 'claimed', by: 'one' }]);
});

test('nobody begins a session that was not opened, has ended, or has lost the slot', async () => {
  await slot.acquire(a);
  expect(await consumer.claim('a', a, 'one')).toBe(false);
  await slot.release(a);
  await claimed('one');
  expect(await consumer.finish('a', a, 'one', FINAL)).toBe(true);
  await slot.acquire(a);
  expect(await consumer.claim('a', a, 'two')).toBe(false);
  await redis.client.flushall();
  await opened();
  await passSlot(a, b);
  expect(await consumer.claim('a', a, 'one')).toBe(false);
  expect(await redis.client.exists(lease, results)).toBe(0);
});

test('nobody begins a session while another process is in a model call; whoever is in one itself may', async () => {
  await opened();
  await slot.hold(b, 'other', false);
  expect(await consumer.claim('a', a, 'one')).toBe(false);
  expect(await redis.client.exists(lease, results)).toBe(0);
  expect(await consumer.claim('a', a, 'other')).toBe(true);
});

test('what is published extends the results; an entry sent twice is there once, one that differs in anything is another', async () => {
  await claimed();
  await redis.client.pexpire(results, 1_000);
  for (const entry of [
    PARTIAL,
    PARTIAL,
    // Of another version of this program: it has a field more.
    { ...PARTIAL, more: '' },
    { ...PARTIAL, text: '你' },
    { kind: 'progress', takenBytes: 640 },
    { kind: 'progress', takenBytes: 640 },
    { kind: 'progress', takenBytes: 960 },
  ] as const) {
    expect(await consumer.publish('a', a, 'one', entry)).toBeUndefined();
  }
  expect((await consumer.results('a')).slice(1)).toEqual([
    PARTIAL,
    PARTIAL,
    { ...PARTIAL, text: '你' },
    { kind: 'progress', takenBytes: 640 },
    { kind: 'progress', takenBytes: 960 },
  ]);
  await expectTtl(results, SESSION_KEYS_TTL_MS);
});

test('a process that has lost the lease or the slot publishes nothing, and hears which, also when it only looks', async () => {
  await claimed('one');
  expect(await consumer.loss('a', a, 'one')).toBeUndefined();
  for (const lost of [consumer.publish('a', a, 'two', PARTIAL), consumer.loss('a', a, 'two')])
    expect(await lost).toBe('lease-lost');
  await passSlot(a, b);
  for (const lost of [consumer.publish('a', a, 'one', PARTIAL), consumer.loss('a', a, 'one')])
    expect(await lost).toBe('slot-lost');
  expect(await consumer.results('a')).toEqual([{ kind: 'claimed', by: 'one' }]);
});

test('the last result frees the slot and takes audio and lease away; sent twice, it is there once', async () => {
  await claimed();
  await redis.client.pexpire(results, 1_000);
  expect(await consumer.finish('a', a, 'one', FINAL)).toBe(true);
  expect(await consumer.finish('a', a, 'one', FINAL)).toBe(false);
  expect((await consumer.results('a')).at(-1)).toEqual(FINAL);
  expect(await redis.client.xlen(results)).toBe(2);
  expect(await redis.client.exists(audio, lease, keys.slot)).toBe(0);
  await expectTtl(results, SESSION_KEYS_TTL_MS);
});

test('without a last result nothing of the session stays', async () => {
  await claimed();
  expect(await consumer.finish('a', a, 'one')).toBe(true);
  expect(await redis.client.exists(audio, lease, results, keys.slot)).toBe(0);
});

test("a process that has lost the lease ends nothing, and another's slot is never freed", async () => {
  await claimed('one');
  expect(await consumer.finish('a', a, 'two', FINAL)).toBe(false);
  expect(await redis.client.exists(audio, lease, keys.slot)).toBe(3);
  await passSlot(a, b);
  expect(await consumer.finish('a', a, 'one', FINAL)).toBe(true);
  expect(await slot.holder()).toBe(b);
});

test('aborted while a process works on it, a session is freed by that process, and leaves no result', async () => {
  const session = await claimed('one');
  await session.append(Buffer.alloc(640));
  await session.abort();
  expect(await slot.holder()).toBe(a);
  expect((await consumer.audio(redis.client, 'a', '0', 0)).at(-1)).toMatchObject({ kind: 'abort' });
  expect(await consumer.finish('a', a, 'one', FINAL)).toBe(true);
  expect(await redis.client.exists(audio, lease, results, keys.slot)).toBe(0);
  // Again, as after a lost reply: now nobody works on it.
  await session.abort();
  expect(await redis.keys('*session:a*')).toEqual([]);
});

test('aborted where its audio is lost, a session says so to the process that works on it, and not for ever', async () => {
  const session = await claimed();
  await redis.client.del(audio);
  await session.abort();
  const entries = await consumer.audio(redis.client, 'a', '0', 0);
  expect(entries).toMatchObject([{ kind: 'abort' }]);
  await expectTtl(audio, SESSION_KEYS_TTL_MS);
});

test('aborted where nobody has begun it, all of it goes at once, the slot too', async () => {
  const session = await opened();
  await session.abort();
  expect(await redis.client.exists(audio, results, keys.slot)).toBe(0);
});

test('aborted when the lease of the process that began it has run out, it is freed by the next claim: that process may be in a model call', async () => {
  const session = await claimed('one');
  await redis.client.del(lease);
  await session.abort();
  expect(await slot.holder()).toBe(a);
  // Where it is dead, nobody else frees the slot; where it is in a call, that renews it.
  await expectTtl(keys.slot, CALL_SLOT_TTL_MS);
  expect(await consumer.claim('a', a, 'one')).toBe(true);
  expect((await consumer.audio(redis.client, 'a', '0', 0)).at(-1)).toMatchObject({ kind: 'abort' });
  expect(await consumer.finish('a', a, 'one')).toBe(true);
  expect(await redis.client.exists(audio, lease, results, keys.slot)).toBe(0);
});

test('aborted when no inference process is left, all of it goes at once; one that has just come and claimed it frees it', async () => {
  const session = await claimed('dead');
  await redis.client.del(lease);
  await session.abort(true);
  expect(await redis.client.exists(audio, results, keys.slot)).toBe(0);
  const other = await claimed('come');
  await other.abort(true);
  expect(await slot.holder()).toBe(a);
  expect((await consumer.audio(redis.client, 'a', '0', 0)).at(-1)).toMatchObject({ kind: 'abort' });
});

test("aborted without lease and slot, all of it goes at once, and another's slot stays", async () => {
  const session = await claimed('dead');
  await redis.client.del(lease);
  await passSlot(a, b);
  await session.abort();
  expect(await redis.client.exists(audio, results)).toBe(0);
  expect(await slot.holder()).toBe(b);
});

test.each([['1.5'], ['1e400'], ['much'], []])(
  'a result that has %s where a whole number belongs is none',
  (...value) => {
    const fields = value.length === 0 ? [] : ['takenBytes', ...value];
    expect(() => parseResultEntry(['1-1', ['kind', 'progress', ...fields]])).toThrow(MalformedEntry);
  },
);
