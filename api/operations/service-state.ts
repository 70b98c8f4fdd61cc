import { audioMs } from '../../common/audio/limits.ts';
import type { Heartbeat, ReadinessStore } from '../../common/readiness/readiness.ts';
import type { Replica, ReplicaStore } from '../../common/readiness/replicas.ts';
import { readInfo } from '../../common/redis/advice/warnings.ts';
import { readSlotHolder, type Slot, type SlotHolder, type SlotOwner } from '../../common/slot/slot.ts';
import type { Store } from '../../common/store/store.ts';

/** What the store tells of the whole service, for metrics and for the operator's status. */
export interface ServiceState {
  /** Undefined while the slot is free. */
  readonly slot: TakenSlot | undefined;
  /** Under this name the operator's `status` prints them. */
  readonly recognizers: readonly InferenceProcess[];
  readonly replicas: readonly Replica[];
  /** Of `maxmemory`, how much is used, from 0 to 1. Undefined without a limit. */
  readonly memoryShare: number | undefined;
}

export interface TakenSlot {
  /** The key's value. */
  readonly holder: SlotHolder;
  /** Undefined if another program wrote the value. */
  readonly owner: SlotOwner | undefined;
  /** By the clock of Redis. */
  readonly ageMs: number;
  /** Until it is free if nobody renews it. Undefined if the key has no end. */
  readonly leftMs: number | undefined;
  /** Audio of a stream that has come in and is not yet in an update; undefined for an upload. */
  readonly backlogMs: number | undefined;
}

/** As its operator sees it. */
export interface InferenceProcess extends Heartbeat {
  readonly heartbeatAgeMs: number;
}

interface StateParts {
  readonly store: Store;
  readonly slot: Slot;
  readonly readiness: ReadinessStore;
  readonly replicas: ReplicaStore;
}

export class ServiceStateReader {
  readonly #parts: StateParts;

  constructor(parts: StateParts) {
    this.#parts = parts;
  }

  /** @throws StoreUnavailable */
  async read(): Promise<ServiceState> {
    const { replicas } = this.#parts;
    const all = [this.#slot(), this.#processes(), replicas.said(), this.#memoryShare()] as const;
    const [slot, recognizers, replicasThere, memoryShare] = await Promise.all(all);
    return { slot, recognizers, replicas: replicasThere, memoryShare };
  }

  async #slot(): Promise<TakenSlot | undefined> {
    const { store, slot } = this.#parts;
    // One after the other on one connection, without a wait between them.
    const [holder, ageMs, leftMs] = await Promise.all([
      slot.holder(),
      slot.ageMs(),
      store.ask((redis, keys) => redis.pttl(keys.slot)),
    ]);
    if (holder === undefined) return undefined;
    const owner = readSlotHolder(holder);
    return {
      holder,
      owner,
      ageMs,
      leftMs: leftMs < 0 ? undefined : leftMs,
      backlogMs: owner?.via === 'ws' ? await this.#backlogMs(owner.id) : undefined,
    };
  }

  async #backlogMs(sessionId: string): Promise<number> {
    const { store } = this.#parts;
    const streams = [store.keys.audio(sessionId), store.keys.results(sessionId)];
    return audioMs(Number(await store.run('sessions/backlog.lua', streams)));
  }

  async #memoryShare(): Promise<number | undefined> {
    // A user without this right sees no share.
    const { used_memory: used = 0, maxmemory: max = 0 } = await readInfo(this.#parts.store.redis);
    return Number(max) > 0 ? Number(used) / Number(max) : undefined;
  }

  async #processes(): Promise<InferenceProcess[]> {
    const { readiness } = this.#parts;
    const { processes } = await readiness.read();
    const agesMs = await readiness.agesMs(processes.map(({ id }) => id));
    return processes.map((process, index) => ({ ...process, heartbeatAgeMs: agesMs[index] ?? 0 }));
  }
}
