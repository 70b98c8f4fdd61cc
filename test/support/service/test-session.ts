import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { MAX_FRAME_BYTES } from '../../../common/audio/limits.ts';
import { parseResultEntry, type ResultEntry } from '../../../common/sessions/entries.ts';
import { SessionProducer } from '../../../common/sessions/session-producer.ts';
import { Slot, slotHolder } from '../../../common/slot/slot.ts';
import { RedisKeys } from '../../../common/store/keys.ts';
import { readStreams } from '../../../common/store/result-streams.ts';
import { Store } from '../../../common/store/store.ts';
import type { TestRedis } from '../redis/redis.ts';

type Kind = ResultEntry['kind'];

/** A stream session as an API replica has it: slot, renewals, audio, results. */
export class TestSession {
  readonly sessionId: string;
  readonly holder: string;
  readonly producer: SessionProducer;
  /** Everything read of the results stream, in order. */
  readonly results: ResultEntry[] = [];
  readonly #redis: Redis;
  readonly #slot: Slot;
  readonly #keys = new RedisKeys('{asr}');
  #renewals: NodeJS.Timeout | undefined;
  #after = '0';

  private constructor(server: TestRedis) {
    this.#redis = new Redis(server.url, { maxRetriesPerRequest: null });
    this.#redis.on('error', () => {});
    const store = new Store(this.#redis, '{asr}');
    this.#slot = new Slot(store);
    this.sessionId = randomBytes(16).toString('hex');
    this.holder = slotHolder({
      id: this.sessionId,
      via: 'ws',
      replica: 'test:1',
      since: new Date().toISOString(),
    });
    this.producer = new SessionProducer(store, this.sessionId, this.holder);
  }

  /** @param fence instead of the slot's own */
  static async open(server: TestRedis, fence?: number): Promise<TestSession> {
    const session = new TestSession(server);
    const given = await session.#slot.acquire(session.holder);
    if (given === undefined) throw new Error('the slot is taken');
    session.#renewals = setInterval(() => void session.#slot.renew(session.holder).catch(() => {}), 500);
    await session.producer.open(fence ?? given);
    return session;
  }

  async send(pcm: Buffer): Promise<void> {
    for (let start = 0; start < pcm.length; start += MAX_FRAME_BYTES) {
      await this.producer.append(pcm.subarray(start, start + MAX_FRAME_BYTES));
    }
  }

  /** Reads on until an entry of this kind (and, where given, this property) has come. */
  async until<K extends Kind>(
    kind: K,
    isIt: (entry: Extract<ResultEntry, { kind: K }>) => boolean = () => true,
  ): Promise<Extract<ResultEntry, { kind: K }>> {
    for (;;) {
      const found = this.of(kind).find(isIt);
      if (found) return found;
      const after = new Map([[this.#keys.results(this.sessionId), this.#after]]);
      for (const [, entries] of await readStreams(this.#redis, after, 500)) {
        for (const entry of entries) {
          [this.#after] = entry;
          this.results.push(parseResultEntry(entry));
        }
      }
    }
  }

  of<K extends Kind>(kind: K): Extract<ResultEntry, { kind: K }>[] {
    return this.results.filter((entry): entry is Extract<ResultEntry, { kind: K }> => entry.kind === kind);
  }

  /** What a replica that dies does. */
  stopRenewing(): void {
    clearInterval(this.#renewals);
  }

  /** The replica has sent the last result. */
  async close(): Promise<void> {
    this.stopRenewing();
    if (this.#redis.status === 'ready') await this.producer.forget();
    this.#redis.disconnect();
  }
}
