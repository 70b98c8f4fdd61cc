import type { Store } from '../store/store.ts';

/**
 * The value of the one recognition slot of the whole service, a Redis key with a TTL. It names the holder for
 * a person and is compared as a whole. So it is kept as the text that was written, never parsed and printed
 * again.
 */
export type SlotHolder = string;

export interface SlotOwner {
  readonly id: string;
  readonly via: 'http' | 'ws';
  /** host:pid of the API replica */
  readonly replica: string;
  /** ISO time */
  readonly since: string;
  /** The trace it is a step of, as a `traceparent`; none where nothing is traced. */
  readonly trace?: string | undefined;
}

export const SLOT_TTL_MS = 5_000;
export const SLOT_RENEW_MS = 1_000;
/** The slot's TTL while a model call runs: its API replica may be gone, but the call still occupies the model. */
export const CALL_SLOT_TTL_MS = 2_000;
/** As long as a session's lease: whoever takes over from a dead process waits no longer for its model call than for its lease. */
const CALL_TTL_MS = 1_000;
export const CALL_RENEW_MS = 300;

export function slotHolder(owner: SlotOwner): SlotHolder {
  return JSON.stringify(owner);
}

/** Whose work the slot's value says it is, or undefined when a stranger wrote it. */
export function readSlotHolder(holder: SlotHolder): SlotOwner | undefined {
  try {
    const { id, via, replica, since, trace }: Record<string, unknown> = { ...JSON.parse(holder) };
    if (typeof id !== 'string' || (via !== 'http' && via !== 'ws')) return undefined;
    return {
      ...{ id, via, replica: String(replica), since: String(since) },
      trace: typeof trace === 'string' ? trace : undefined,
    };
  } catch {
    return undefined;
  }
}

/** Takes, renews and frees the slot. Each is one Lua script, so it is one step for all replicas. */
export class Slot {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @returns the fence that travels with the work, or undefined when the slot is taken. @throws StoreUnavailable */
  async acquire(holder: SlotHolder): Promise<number | undefined> {
    const keys = [this.#store.keys.slot, this.#store.keys.fence];
    const fence = Number(await this.#store.run('slot/acquire.lua', keys, holder, SLOT_TTL_MS));
    return fence === 0 ? undefined : fence;
  }

  /** Gives the holder its whole time again. @returns whether it still holds the slot. @throws StoreUnavailable */
  async renew(holder: SlotHolder): Promise<boolean> {
    return (await this.#store.run('slot/renew.lua', [this.#store.keys.slot], holder, SLOT_TTL_MS)) === 1;
  }

  /**
   * Says that `process` is in a model call for the holder. That keeps the slot so long.
   * @param again the call has been running. @returns false when another process is in one. @throws StoreUnavailable
   */
  async hold(holder: SlotHolder, process: string, again: boolean): Promise<boolean> {
    const { id = '', via } = readSlotHolder(holder) ?? {};
    const { keys } = this.#store;
    // The last one is there until the holder's work is over.
    const used = [keys.slot, keys.modelCall, via === 'ws' ? keys.audio(id) : keys.upload(id)];
    const args = [holder, CALL_SLOT_TTL_MS, SLOT_TTL_MS, process, CALL_TTL_MS, again ? 1 : 0];
    return (await this.#store.run('slot/hold.lua', used, ...args)) === 1;
  }

  /** @returns the process that is in a model call. @throws StoreUnavailable */
  async caller(): Promise<string | undefined> {
    return (await this.#store.ask((redis, { modelCall }) => redis.get(modelCall))) ?? undefined;
  }

  /** Says that the model call has returned. Another process's call is left alone. @throws StoreUnavailable */
  async callEnded(process: string): Promise<void> {
    await this.#store.run('slot/release.lua', [this.#store.keys.modelCall], process);
  }

  /** @returns whether the holder had the slot until now. @throws StoreUnavailable */
  async release(holder: SlotHolder): Promise<boolean> {
    return (await this.#store.run('slot/release.lua', [this.#store.keys.slot], holder)) === 1;
  }

  /** The next fences will be larger than this one. @throws StoreUnavailable */
  async raiseFence(seen: number): Promise<void> {
    await this.#store.run('slot/raise-fence.lua', [this.#store.keys.fence], seen);
  }

  /** @returns for how long it has been taken, by the clock of Redis; 0 while it is free. @throws StoreUnavailable */
  async ageMs(): Promise<number> {
    return Number(await this.#store.run('slot/age.lua', [this.#store.keys.slot, this.#store.keys.fence]));
  }

  /** @returns the slot's value; undefined is a free slot. @throws StoreUnavailable */
  async holder(): Promise<SlotHolder | undefined> {
    return (await this.#store.ask((redis, { slot }) => redis.get(slot))) ?? undefined;
  }
}
