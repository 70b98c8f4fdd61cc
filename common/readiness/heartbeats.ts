import { StoreUnavailable } from '../errors/errors.ts';
import type { OutageLog } from '../redis/advice/outage.ts';
import type { Store } from '../store/store.ts';

export const HEARTBEAT_TTL_MS = 3_000;
const HEARTBEAT_INTERVAL_MS = 1_000;

/** What the processes of one kind say of themselves: each under a key of its own that ends, and an index of them all. */
export class HeartbeatStore<Said extends { readonly id: string }> {
  readonly #store: Store;
  readonly #keyOf: (id: string) => string;
  readonly #index: string;
  readonly #parse: (text: string, id: string) => Said | undefined;

  /** @param parse of what is there; undefined where it says nothing that counts */
  constructor(
    store: Store,
    keyOf: (id: string) => string,
    index: string,
    parse: (text: string, id: string) => Said | undefined,
  ) {
    this.#store = store;
    this.#keyOf = keyOf;
    this.#index = index;
    this.#parse = parse;
  }

  /** @throws StoreUnavailable */
  async beat(said: Said): Promise<void> {
    await this.#run(said.id, JSON.stringify(said), HEARTBEAT_TTL_MS);
  }

  /** The process is gone for good. @throws StoreUnavailable */
  async stop(id: string): Promise<void> {
    await this.#run(id, '', 0);
  }

  /** What these processes say, or all of them. @throws StoreUnavailable */
  async said(these?: readonly string[]): Promise<Said[]> {
    const ids = these ?? (await this.#store.ask((redis) => redis.zrange(this.#index, 0, '-1')));
    if (ids.length === 0) return [];
    const texts = await this.#store.ask((redis) => redis.mget(...ids.map(this.#keyOf)));
    return ids.flatMap((id, index) => {
      const text = texts[index];
      return typeof text === 'string' ? (this.#parse(text, id) ?? []) : [];
    });
  }

  /**
   * @returns ms since the last heartbeat of each process, by the clock of Redis; one that is gone has the
   * longest age.
   * @throws StoreUnavailable
   */
  async agesMs(ids: readonly string[]): Promise<number[]> {
    const leftMs = ids.map((id) => this.#store.ask((redis) => redis.pttl(this.#keyOf(id))));
    return (await Promise.all(leftMs)).map((left) => HEARTBEAT_TTL_MS - Math.max(0, left));
  }

  async #run(id: string, text: string, ttlMs: number): Promise<void> {
    await this.#store.run('readiness/beat.lua', [this.#keyOf(id), this.#index], id, text, ttlMs);
  }
}

/**
 * Says once a second what this process is doing. As the one thing that it always writes, this also shows whether Redis
 * takes what is written: a full one, or one whose rules were changed, goes on answering reads.
 */
export class HeartbeatSender<Said extends { readonly id: string }> {
  readonly #store: HeartbeatStore<Said>;
  readonly #outages: OutageLog;
  #said: Said;
  #timer: NodeJS.Timeout | undefined;
  #writtenAtMs = performance.now();
  #underWay: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(store: HeartbeatStore<Said>, said: Said, outages: OutageLog) {
    this.#store = store;
    this.#said = said;
    this.#outages = outages;
  }

  start(): void {
    this.#timer = setInterval(() => void this.beat(), HEARTBEAT_INTERVAL_MS);
    void this.beat();
  }

  /** What this process says now. */
  get said(): Said {
    return this.#said;
  }

  /** Resolves when it has been written, or could not be: then the next beat writes it. */
  async say(said: Said): Promise<void> {
    this.#said = said;
    await this.beat();
  }

  /** Whether one was written within the last 3 s; true also in the first 3 s, before any has been. */
  get isWritten(): boolean {
    return performance.now() - this.#writtenAtMs < HEARTBEAT_TTL_MS;
  }

  /**
   * If none was written within the last 3 s, this writes one. This process may have stood still, or Redis may
   * just be back.
   * @throws StoreUnavailable
   */
  async expectWritten(): Promise<void> {
    if (!this.isWritten) await this.beat();
    if (!this.isWritten) throw new StoreUnavailable('Redis takes nothing that is written');
  }

  /** Does nothing once stopped. In an outage the beats go on. */
  async beat(): Promise<void> {
    if (this.#isStopped) return;
    const written = this.#write();
    // Without a value: each would hold those of all beats before it.
    this.#underWay = Promise.all([this.#underWay, written]).then(() => undefined);
    await written;
  }

  /**
   * The process is gone: its entry is removed. A beat that is under way would write it back, so that one ends before.
   * @throws StoreUnavailable; the entry then ends with its TTL
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#underWay;
    await this.#store.stop(this.#said.id);
  }

  async #write(): Promise<void> {
    try {
      await this.#store.beat(this.#said);
      this.#writtenAtMs = performance.now();
      this.#outages.worked();
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#outages.failed(error);
    }
  }
}
