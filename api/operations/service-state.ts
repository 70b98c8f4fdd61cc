import { audioMs } from '../../common/audio/limits.ts';
import type { Heartbeat, ReadinessStore } from '../../common/readiness/readiness.ts';
import { fromStore } from '../../common/redis/connection.ts';
import type { RedisKeys } from '../../common/redis/keys.ts';
import { LuaScript, type RedisClient } from '../../common/redis/scripts.ts';
import { readSlotHolder, type Slot, type SlotHolder, type SlotOwner } from '../../common/slot/slot.ts';

/** What the store tells of the whole service, for metrics and for the operator's status. */
export interface ServiceState {
  /** Undefined while the slot is free. */
  readonly slot: TakenSlot | undefined;
  /** Under this name the operator's `status` prints them. */
  readonly recognizers: readonly InferenceProcess[];
}

export interface TakenSlot {
  /** The key's value, by which it can be freed. */
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
  readonly redis: RedisClient;
  readonly keys: RedisKeys;
  readonly slot: Slot;
  readonly readiness: ReadinessStore;
}

export class ServiceStateReader {
  readonly #parts: StateParts;
  readonly #backlog = new LuaScript('sessions/backlog.lua');

  constructor(parts: StateParts) {
    this.#parts = parts;
  }

  /** @throws StoreUnavailable */
  async read(): Promise<ServiceState> {
    const [slot, recognizers] = await Promise.all([this.#slot(), this.#processes()]);
    return { slot, recognizers };
  }

  async #slot(): Promise<TakenSlot | undefined> {
    const { redis, keys, slot } = this.#parts;
    // One after the other on one connection, without a wait between them.
    const [holder, ageMs, leftMs] = await Promise.all([
      slot.holder(),
      slot.ageMs(),
      fromStore(redis.pttl(keys.slot)),
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
    const { redis, keys } = this.#parts;
    const streams = [keys.audio(sessionId), keys.results(sessionId)];
    return audioMs(Number(await fromStore(this.#backlog.run(redis, streams, []))));
  }

  async #processes(): Promise<InferenceProcess[]> {
    const { readiness } = this.#parts;
    const { processes } = await readiness.read();
    const agesMs = await readiness.heartbeatAgesMs(processes.map(({ id }) => id));
    return processes.map((process, index) => ({ ...process, heartbeatAgeMs: agesMs[index] ?? 0 }));
  }
}
