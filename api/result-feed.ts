import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../common/log.ts';
import type { RedisClient } from '../common/lua.ts';
import type { RedisKeys } from '../common/redis-keys.ts';
import type { ResultEntry } from '../common/sessions/entries.ts';
import { readResults } from '../common/sessions/session-producer.ts';

/**
 * How long one read blocks. A session that begins while another one of this replica is still ending joins with the next read, so this bounds its wait;
 * with one session at a time the reply comes with the entry.
 */
const BLOCK_MS = 100;
const RETRY_MS = 100;

type Listener = (entry: ResultEntry) => void;

/** Reads the results of this replica's sessions (one is active service-wide, another may be ending) over one blocking connection. */
export class ResultFeed {
  readonly #blocking: RedisClient;
  readonly #keys: RedisKeys;
  readonly #log: Logger;
  readonly #sessions = new Map<string, { after: string; listener: Listener }>();
  #reading = false;

  constructor(blocking: RedisClient, keys: RedisKeys, log: Logger) {
    this.#blocking = blocking;
    this.#keys = keys;
    this.#log = log;
  }

  /** Every result of the session from the first one on, in order. @returns the end of the subscription. */
  subscribe(sessionId: string, listener: Listener): () => void {
    this.#sessions.set(sessionId, { after: '0', listener });
    if (!this.#reading) {
      this.#reading = true;
      void this.#read();
    }
    return () => this.#sessions.delete(sessionId);
  }

  async #read(): Promise<void> {
    while (this.#sessions.size > 0) {
      try {
        const after = new Map([...this.#sessions].map(([sessionId, { after }]) => [sessionId, after]));
        const results = await readResults(this.#blocking, this.#keys, after, BLOCK_MS);
        for (const [sessionId, entries] of results) {
          for (const { id, entry } of entries) {
            const session = this.#sessions.get(sessionId);
            if (!session) break;
            session.after = id;
            session.listener(entry);
          }
        }
      } catch (error) {
        // The sessions themselves notice an outage by their own commands; the reader only has to be back when Redis is.
        this.#log.debug({ err: error }, 'reading results failed');
        await delay(RETRY_MS);
      }
    }
    // In the same turn as the look at the sessions: one that subscribes later starts a reader of its own.
    this.#reading = false;
  }
}
