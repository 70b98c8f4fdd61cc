import { setTimeout as delay } from 'node:timers/promises';
import { CALL_SLOT_TTL_MS, type SlotHolder } from '../slot/slot.ts';
import type { Store } from '../store/store.ts';
import { SESSION_KEYS_TTL_MS } from './entries.ts';

const ENTRY_GAP_MS = 10;

/** The API's side of a stream session: its audio. One instance a session. */
export class SessionProducer {
  readonly #store: Store;
  readonly sessionId: string;
  readonly holder: SlotHolder;
  /** Frames that go together in the next entry. */
  #waiting: Buffer[] = [];
  /** The entry that will carry them. */
  #next: Promise<boolean> | undefined;
  /** The entry before it. */
  #last: Promise<boolean> = Promise.resolve(true);
  #lastEntry = 0;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #endEntry: number | undefined;

  constructor(store: Store, sessionId: string, holder: SlotHolder) {
    this.#store = store;
    this.sessionId = sessionId;
    this.holder = holder;
  }

  /** Where its results come. */
  get resultStream(): string {
    return this.#store.keys.results(this.sessionId);
  }

  get #audioStream(): string {
    return this.#store.keys.audio(this.sessionId);
  }

  /** @returns false when the slot was lost meanwhile. @throws StoreUnavailable */
  async open(fence: number): Promise<boolean> {
    const { keys } = this.#store;
    const used = [keys.slot, this.#audioStream, keys.sessions];
    const args = [this.holder, fence, this.sessionId, SESSION_KEYS_TTL_MS];
    return (await this.#store.run('sessions/open.lua', used, ...args)) === 1;
  }

  /**
   * Appends one frame. In real time each frame is an entry of its own. Those that come while an entry is on
   * its way, or within 10 ms of it, go behind it in one entry: two seconds of the smallest frames, a command each,
   * would take longer than a command may.
   * @returns false when the session is over. @throws StoreUnavailable
   */
  append(pcm: Buffer): Promise<boolean> {
    this.#waiting.push(pcm);
    this.#next ??= this.#afterLast().then(() => this.#flush());
    return this.#next;
  }

  /**
   * Says that no more audio comes. A second call adds its entry only if it is not there.
   * @throws StoreUnavailable
   */
  async end(): Promise<void> {
    // Frames and end are sent without a wait between them: the connection keeps the order.
    const frames = this.#flush();
    this.#endEntry ??= this.#nextEntry();
    await Promise.all([frames, this.#add(this.#endEntry, 'kind', 'end')]);
  }

  /** @returns whether an inference process has the session's lease now. @throws StoreUnavailable */
  async isServed(): Promise<boolean> {
    return (await this.#store.ask((redis, keys) => redis.exists(keys.lease(this.sessionId)))) === 1;
  }

  /**
   * Ends a session without a result: the client is gone, or was refused.
   * @param isAbandoned no inference process is left that could free the slot. @throws StoreUnavailable
   */
  async abort(isAbandoned = false): Promise<void> {
    const args = [this.holder, SESSION_KEYS_TTL_MS, CALL_SLOT_TTL_MS, isAbandoned ? 1 : 0];
    await this.#store.run('sessions/abort.lua', this.#store.keys.ofSession(this.sessionId), ...args);
  }

  /** The last result has been read: nothing of the session stays behind. @throws StoreUnavailable */
  async forget(): Promise<void> {
    await this.#store.ask((redis) => redis.del(this.resultStream, this.#audioStream));
  }

  async #afterLast(): Promise<void> {
    const waitMs = this.#sentAtMs + ENTRY_GAP_MS - performance.now();
    await (waitMs > 0 ? Promise.all([this.#last, delay(waitMs)]) : this.#last);
  }

  /** @returns the entry that carries the last frame so far */
  #flush(): Promise<boolean> {
    if (this.#waiting.length > 0) {
      const pcm = Buffer.concat(this.#waiting);
      this.#waiting = [];
      this.#next = undefined;
      this.#sentAtMs = performance.now();
      this.#last = this.#add(this.#nextEntry(), 'pcm', pcm);
    }
    return this.#last;
  }

  #nextEntry(): number {
    this.#lastEntry += 1;
    return this.#lastEntry;
  }

  async #add(entry: number, field: string, value: string | Buffer): Promise<boolean> {
    const id = `${entry}-1`;
    const added = await this.#store.ask((redis) =>
      redis.xadd(this.#audioStream, 'NOMKSTREAM', id, field, value).catch((error: unknown) => {
        // A repeated append after a lost reply: the entry is there, because its number is its id.
        if (error instanceof Error && error.message.includes('equal or smaller')) return id;
        throw error;
      }),
    );
    return added !== null;
  }
}
