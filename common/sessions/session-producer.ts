import { StoreUnavailable } from '../errors.ts';
import { LuaScript, type RedisClient } from '../lua.ts';
import { fromStore } from '../redis.ts';
import type { RedisKeys } from '../redis-keys.ts';
import type { SlotHolder } from '../slot/slot.ts';
import { SESSION_KEYS_TTL_MS } from './entries.ts';

/** The API's side of a stream session: its audio. One instance a session. */
export class SessionProducer {
  readonly #redis: RedisClient;
  readonly #keys: RedisKeys;
  readonly #scripts: SessionProducerScripts;
  readonly sessionId: string;
  readonly #holder: SlotHolder;
  #lastFrame = 0;

  constructor(
    redis: RedisClient,
    keys: RedisKeys,
    scripts: SessionProducerScripts,
    sessionId: string,
    holder: SlotHolder,
  ) {
    this.#redis = redis;
    this.#keys = keys;
    this.#scripts = scripts;
    this.sessionId = sessionId;
    this.#holder = holder;
  }

  /** @returns false when the slot was lost meanwhile. @throws StoreUnavailable */
  async open(fence: number): Promise<boolean> {
    const keys = [this.#keys.slot, this.#keys.audio(this.sessionId), this.#keys.sessions];
    const args = [this.#holder, fence, this.sessionId, SESSION_KEYS_TTL_MS];
    return (await fromStore(this.#scripts.open.run(this.#redis, keys, args))) === 1;
  }

  /** Appends one frame (not awaited by the next: the connection keeps the order). @returns false when the session is over. @throws StoreUnavailable */
  async append(pcm: Buffer): Promise<boolean> {
    return this.#add('pcm', pcm);
  }

  /** Says that no more audio comes. @returns false when the session is over. @throws StoreUnavailable */
  async end(): Promise<boolean> {
    return this.#add('kind', 'end');
  }

  /** Ends a session without a result: the client is gone, or broke the protocol. @throws StoreUnavailable */
  async abort(): Promise<void> {
    const { slot } = this.#keys;
    const keys = [
      slot,
      this.#keys.lease(this.sessionId),
      this.#keys.audio(this.sessionId),
      this.#keys.results(this.sessionId),
    ];
    await fromStore(this.#scripts.abort.run(this.#redis, keys, [this.#holder]));
  }

  /** The last result has been read: nothing of the session stays behind. @throws StoreUnavailable */
  async forget(): Promise<void> {
    await fromStore(this.#redis.del(this.#keys.results(this.sessionId), this.#keys.audio(this.sessionId)));
  }

  async #add(field: string, value: string | Buffer): Promise<boolean> {
    this.#lastFrame += 1;
    const id = `${this.#lastFrame}-1`;
    try {
      return (
        (await this.#redis.xadd(this.#keys.audio(this.sessionId), 'NOMKSTREAM', id, field, value)) !== null
      );
    } catch (error) {
      // A repeated append after a lost reply: the frame is there, because its number is its id.
      if (error instanceof Error && error.message.includes('equal or smaller')) return true;
      throw new StoreUnavailable(`Redis: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
}

/** Compiled once a process, not once a session. */
export class SessionProducerScripts {
  readonly open = new LuaScript('sessions/open.lua', 3);
  readonly abort = new LuaScript('sessions/abort.lua', 4);
}
