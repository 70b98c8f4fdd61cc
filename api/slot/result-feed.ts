import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../common/process/log.ts';
import type { RedisClient } from '../../common/redis/client.ts';
import {
  type ReadStreams,
  readStreams,
  readStreamsNow,
  type StreamEntry,
} from '../../common/store/result-streams.ts';

/**
 * How long one read blocks. Work that begins while other work of this replica is still ending joins with the
 * next read, so this bounds its wait. With one at a time, the reply comes with the entry.
 */
const BLOCK_MS = 100;
const RETRY_MS = 100;

type Listener = (entry: StreamEntry) => void;

/**
 * Reads the results of this replica's sessions and uploads (one is active service-wide, another may be
 * ending) over one blocking connection. Each has a stream of its own, read from its first entry on. So no
 * result is missed, whatever happens to the connection. If only that connection is away, the results are
 * looked up over the one for commands. Otherwise audio that the model has taken would seem to wait.
 */
export class ResultFeed {
  readonly #blocking: RedisClient;
  readonly #redis: RedisClient;
  readonly #log: Logger;
  readonly #streams = new Map<string, { after: string; listener: Listener }>();
  #reading = false;

  constructor(blocking: RedisClient, redis: RedisClient, log: Logger) {
    this.#blocking = blocking;
    this.#redis = redis;
    this.#log = log;
  }

  /** Every entry of the stream from the first one on, in order. @returns the end of the subscription. */
  subscribe(stream: string, listener: Listener): () => void {
    this.#streams.set(stream, { after: '0', listener });
    if (!this.#reading) {
      this.#reading = true;
      void this.#read();
    }
    return () => this.#streams.delete(stream);
  }

  async #read(): Promise<void> {
    while (this.#streams.size > 0) {
      try {
        this.#hand(await readStreams(this.#blocking, this.#after(), BLOCK_MS));
      } catch (error) {
        // Sessions and uploads notice an outage by their own commands. The reader only has to come back.
        this.#log.debug({ err: error }, 'reading results failed');
        await readStreamsNow(this.#redis, this.#after())
          .then((read) => this.#hand(read))
          .catch(() => undefined);
        await delay(RETRY_MS);
      }
    }
    // In the same turn as the look at the subscriptions: one that comes later starts a reader of its own.
    this.#reading = false;
  }

  #after(): Map<string, string> {
    return new Map([...this.#streams].map(([stream, { after }]) => [stream, after]));
  }

  #hand(read: ReadStreams): void {
    for (const [stream, entries] of read) {
      for (const entry of entries) {
        const subscription = this.#streams.get(stream);
        if (!subscription) break;
        [subscription.after] = entry;
        subscription.listener(entry);
      }
    }
  }
}
