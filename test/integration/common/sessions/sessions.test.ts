import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  LEASE_TTL_MS,
  MalformedEntry,
  parseResultEntry,
  type ResultEntry,
  resultFields,
  SESSION_KEYS_TTL_MS,
} from '../../../../common/sessions/entries.ts';
import {
  SessionConsumer,
  type SessionEnd,
  sessionAnnounced,
} from '../../../../common/sessions/session-consumer.ts';
import { SessionProducer } from '../../../../common/sessions/session-producer.ts';
import { CALL_SLOT_TTL_MS, Slot, type SlotHolder, slotHolder } from '../../../../common/slot/slot.ts';
import { RedisKeys } from '../../../../common/store/keys.ts';
import { startRedis, type TestRedis } from '../../../support/redis/redis.ts';

/** What the headers of `common/sessions/*.lua` promise, one promise a test. */

let redis: TestRedis;
let slot: Slot;
const keys = new RedisKeys('{asr}');
const [audio, lease, results] = [keys.audio('a'), keys.lease('a'), keys.results('a')];
const holderOf = (id: string): SlotHolder =>
  slotHolder({ id, via: 'ws', replica: 'host:1', since: '2026-01-01T00:00:00.000Z' });
const [a, b] = [holderOf('a'), holderOf('b')];
const PARTIAL = { kind: 'partial', takenBytes: 640, revision: 1, text: '你好' } as const;
const FINAL = { kind: 'final', takenBytes: 640, revision: 2, text: '你好吗' } as const;
const ABORTED = { kind: 'aborted' } as const;
const LEASE_LOST = { kind: 'lease-lost' } as const;

const producer = (): SessionProducer => new SessionProducer(redis.store, 'a', a);

/** An inference process's side of the session, one that has published nothing yet. */
const consumer = (token = 'one'): SessionConsumer => new SessionConsumer(redis.store, 'a', a, token);
const finish = (end: SessionEnd, token = 'one'): Promise<SessionEnd> => consumer(token).finish(end);

async function published(): Promise<ResultEntry[]> {
  return (await redis.client.xrange(results, '-', '+')).map(parseResultEntry);
}

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
  expect(await consumer(token).claim()).toBe(true);
  return session;
}

async function expectTtl(key: string, ttlMs: number): Promise<void> {
  const leftMs = await redis.client.pttl(key);
  expect(leftMs, key).toBeGreaterThan(ttlMs / 2);
  expect(leftMs, key).toBeLessThanOrEqual(ttlMs);
}

beforeAll(async () => {
  redis = await startRedis();
  slot = new Slot(redis.store);
});
afterAll(() => redis.stop());
beforeEach(() => redis.client.flushall());

test('a session is opened with its fence and announced; every key has a TTL from its first write', async () => {
  await opened();
  const fence = Number(await redis.client.get(keys.fence));
  expect((await consumer().audio(redis.client, '0', 0))[0]).toMatchObject({ kind: 'open', fence });
  expect(await redis.client.xrange(keys.sessions, '-', '+')).toEqual([
    [expect.any(String), ['id', 'a', 'holder', a]],
  ]);
  await expectTtl(audio, 60_000);
  await expectTtl(keys.sessions, SESSION_KEYS_TTL_MS);
  await consumer().claim();
  await expectTtl(lease, LEASE_TTL_MS);
  await expectTtl(results, SESSION_KEYS_TTL_MS);
});

test('an announcement that was seen ends no further wait', async () => {
  await opened();
  const seen = await sessionAnnounced(redis.client, keys, '0', 1);
  expect(seen).toBe((await redis.client.xrange(keys.sessions, '-', '+'))[0]?.[0]);
  expect(await sessionAnnounced(redis.client, keys, seen, 1)).toBe(seen);
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
  for (let n = 0; n < 500; n += 1) {
    const session = new SessionProducer(redis.store, `${n}`, a);
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
  expect(await consumer('two').claim()).toBe(false);
  await redis.client.pexpire(lease, 100);
  expect(await consumer().claim()).toBe(true);
  await expectTtl(lease, LEASE_TTL_MS);
  expect(await published()).toEqual([{ kind: 'claimed', by: 'one' }]);
});

test('nobody begins a session that was not opened, has ended, or has lost the slot', async () => {
  await slot.acquire(a);
  expect(await consumer().claim()).toBe(false);
  await slot.release(a);
  await claimed('one');
  expect(await finish(FINAL)).toEqual(FINAL);
  await slot.acquire(a);
  expect(await consumer('two').claim()).toBe(false);
  await redis.client.flushall();
  await opened();
  await passSlot(a, b);
  expect(await consumer().claim()).toBe(false);
  expect(await redis.client.exists(lease, results)).toBe(0);
});

test('nobody begins a session while another process is in a model call; whoever is in one itself may', async () => {
  await opened();
  await slot.hold(b, 'other', false);
  expect(await consumer().claim()).toBe(false);
  expect(await redis.client.exists(lease, results)).toBe(0);
  expect(await consumer('other').claim()).toBe(true);
});

test('what is published extends the results; an entry sent twice is there once, one that differs in anything is another', async () => {
  await claimed();
  await redis.client.pexpire(results, 1_000);
  const say = async (text: string): Promise<void> =>
    expect(await consumer().partial(text, 640)).toBeUndefined();
  const take = async (bytes: number): Promise<void> => expect(await consumer().taken(bytes)).toBeUndefined();
  await say('你好');
  await say('你好');
  // Of another version of this program: it has a field more.
  const another = [a, 'one', SESSION_KEYS_TTL_MS, ...resultFields(PARTIAL), 'more', ''];
  await redis.store.run('sessions/publish.lua', [keys.slot, lease, results], ...another);
  await say('你');
  await take(640);
  await take(640);
  await take(960);
  expect((await published()).slice(1)).toEqual([
    PARTIAL,
    PARTIAL,
    { ...PARTIAL, text: '你' },
    { kind: 'progress', takenBytes: 640 },
    { kind: 'progress', takenBytes: 960 },
  ]);
  await expectTtl(results, SESSION_KEYS_TTL_MS);
});

test('a process that has lost the lease or the slot publishes nothing, and is told which, also when it only looks', async () => {
  await claimed('one');
  expect(await consumer().loss(0)).toBeUndefined();
  for (const lost of [consumer('two').taken(640), consumer('two').loss(0)])
    expect(await lost).toBe('lease-lost');
  await passSlot(a, b);
  for (const lost of [consumer().taken(640), consumer().loss(0)]) expect(await lost).toBe('slot-lost');
  expect(await published()).toEqual([{ kind: 'claimed', by: 'one' }]);
});

test('the last result frees the slot and takes audio and lease away; sent twice, it is there once', async () => {
  await claimed();
  await redis.client.pexpire(results, 1_000);
  expect(await finish(FINAL)).toEqual(FINAL);
  expect(await finish(FINAL)).toEqual(LEASE_LOST);
  expect((await published()).at(-1)).toEqual(FINAL);
  expect(await redis.client.xlen(results)).toBe(2);
  expect(await redis.client.exists(audio, lease, keys.slot)).toBe(0);
  await expectTtl(results, SESSION_KEYS_TTL_MS);
});

test('without a last result nothing of the session stays', async () => {
  await claimed();
  expect(await finish(ABORTED)).toEqual(ABORTED);
  expect(await redis.client.exists(audio, lease, results, keys.slot)).toBe(0);
});

test("a process that has lost the lease ends nothing, and another's slot is never freed", async () => {
  await claimed('one');
  expect(await finish(FINAL, 'two')).toEqual(LEASE_LOST);
  expect(await redis.client.exists(audio, lease, keys.slot)).toBe(3);
  await passSlot(a, b);
  expect(await finish(FINAL)).toEqual(FINAL);
  expect(await slot.holder()).toBe(b);
});

test('aborted while a process works on it, a session is freed by that process, and leaves no result', async () => {
  const session = await claimed('one');
  await session.append(Buffer.alloc(640));
  await session.abort();
  expect(await slot.holder()).toBe(a);
  expect((await consumer().audio(redis.client, '0', 0)).at(-1)).toMatchObject({ kind: 'abort' });
  expect(await finish(FINAL)).toEqual(FINAL);
  expect(await redis.client.exists(audio, lease, results, keys.slot)).toBe(0);
  // Again, as after a lost reply: now nobody works on it.
  await session.abort();
  expect(await redis.keys('*session:a*')).toEqual([]);
});

test('aborted where its audio is lost, a session says so to the process that works on it, and not for ever', async () => {
  const session = await claimed();
  await redis.client.del(audio);
  await session.abort();
  const entries = await consumer().audio(redis.client, '0', 0);
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
  expect(await consumer().claim()).toBe(true);
  expect((await consumer().audio(redis.client, '0', 0)).at(-1)).toMatchObject({ kind: 'abort' });
  expect(await finish(ABORTED)).toEqual(ABORTED);
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
  expect((await consumer().audio(redis.client, '0', 0)).at(-1)).toMatchObject({ kind: 'abort' });
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
