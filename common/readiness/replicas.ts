import { StoreUnavailable } from '../errors/errors.ts';
import type { Store } from '../redis/store.ts';
import { HEARTBEAT_INTERVAL_MS, HEARTBEAT_TTL_MS } from './readiness.ts';

/** What an API replica says of itself once a second. */
export interface Replica {
  /** host:pid */
  readonly id: string;
  /** Of the program, as its package.json says. */
  readonly version: string;
}

/** The heartbeats of the API replicas in the store. */
export class ReplicaStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws StoreUnavailable */
  async beat(replica: Replica): Promise<void> {
    await this.#run(replica.id, JSON.stringify(replica), HEARTBEAT_TTL_MS);
  }

  /** The replica is gone for good. @throws StoreUnavailable */
  async stop(id: string): Promise<void> {
    await this.#run(id, '', 0);
  }

  /** @throws StoreUnavailable */
  async read(): Promise<Replica[]> {
    const ids = await this.#store.ask((redis, { replicas }) => redis.zrange(replicas, 0, '-1'));
    if (ids.length === 0) return [];
    const values = await this.#store.ask((redis, keys) => redis.mget(...ids.map((id) => keys.replica(id))));
    return values.flatMap((value, i) => (value === null ? [] : [readReplica(ids[i] ?? '', value)]));
  }

  async #run(id: string, value: string, ttlMs: number): Promise<void> {
    const { keys } = this.#store;
    await this.#store.run('readiness/beat.lua', [keys.replica(id), keys.replicas], id, value, ttlMs);
  }
}

/** Another version of this program, or a stranger, may have written it. */
function readReplica(id: string, text: string): Replica {
  try {
    const { version }: Record<string, unknown> = { ...JSON.parse(text) };
    return { id, version: typeof version === 'string' ? version : '?' };
  } catch {
    return { id, version: '?' };
  }
}

/**
 * This replica's heartbeat. It also tells whether Redis takes what the service writes: a full one, or one whose
 * rules were changed, goes on answering reads.
 */
export class ReplicaHeartbeat {
  readonly #store: ReplicaStore;
  readonly #replica: Replica;
  readonly #onBeat: (failure: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #writtenAtMs = performance.now();
  #beating: Promise<void>;

  /** Begins at once. @param onBeat hears how each one went */
  constructor(store: ReplicaStore, replica: Replica, onBeat: (failure: unknown) => void) {
    this.#store = store;
    this.#replica = replica;
    this.#onBeat = onBeat;
    this.#beating = this.#beat();
    this.#timer = setInterval(() => {
      this.#beating = this.#beat();
    }, HEARTBEAT_INTERVAL_MS);
  }

  /** Whether one was written within the last 3 s. */
  get isWritten(): boolean {
    return performance.now() - this.#writtenAtMs < HEARTBEAT_TTL_MS;
  }

  /**
   * If none was written within the last 3 s, this writes one. This process may have stood still, or Redis may
   * just be back.
   * @throws StoreUnavailable
   */
  async expectWritten(): Promise<void> {
    if (!this.isWritten) await this.#beat();
    if (!this.isWritten) throw new StoreUnavailable('Redis takes nothing that is written');
  }

  /** @throws StoreUnavailable */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    await this.#store.stop(this.#replica.id);
  }

  async #beat(): Promise<void> {
    try {
      await this.#store.beat(this.#replica);
      this.#writtenAtMs = performance.now();
      this.#onBeat(undefined);
    } catch (error) {
      this.#onBeat(error);
    }
  }
}
