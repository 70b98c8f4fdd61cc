import type { Store } from '../redis/store.ts';

export const HEARTBEAT_TTL_MS = 3_000;
export const HEARTBEAT_INTERVAL_MS = 1_000;
const LOOK_MS = 1_000;

/** What an inference process says of itself once a second. */
export interface Heartbeat {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly state: 'loading' | 'ready' | 'draining';
  /** Name of the exception that ended the last attempt to load. */
  readonly error?: string;
  /** Catalogue id, `bundled`, or the folder's path as configured. */
  readonly model?: string;
  /** The shape of the model's files. Older versions do not send it. */
  readonly family?: string;
  readonly provider?: string;
  /** Of the program, as its package.json says. Older versions do not send it. */
  readonly version?: string;
}

export interface Readiness {
  readonly ready: boolean;
  readonly busy: boolean;
  /** Name of the exception that keeps a process from loading its model, even if another process is ready. */
  readonly error: string | undefined;
  readonly processes: readonly Heartbeat[];
}

/** What a heartbeat says, or undefined when a stranger, or another version of this program, wrote it. */
function readHeartbeat(text: string): Heartbeat | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { id, host, pid, state, ...said }: Partial<Record<keyof Heartbeat, unknown>> = value;
    if (state !== 'loading' && state !== 'ready' && state !== 'draining') return undefined;
    const texts: Readonly<Record<string, string>> = Object.fromEntries(
      Object.entries(said).map(([name, text]) => [name, String(text)]),
    );
    return { ...texts, id: String(id), host: String(host), pid: Number(pid), state };
  } catch {
    return undefined;
  }
}

/** The heartbeats in the store. Each inference process writes its own, and every API replica reads them all. */
export class ReadinessStore {
  readonly #store: Store;
  /** The processes that were ready at the last look: they are looked at first. */
  #readyIds: readonly string[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /** @throws StoreUnavailable */
  async beat(heartbeat: Heartbeat): Promise<void> {
    await this.#run(heartbeat.id, JSON.stringify(heartbeat), HEARTBEAT_TTL_MS);
  }

  /** The process is gone for good. @throws StoreUnavailable */
  async stop(id: string): Promise<void> {
    await this.#run(id, '', 0);
  }

  /**
   * Whether any process can recognize. Looks first at those that could the last time, and at all of them only
   * if none of those can any more.
   * @throws StoreUnavailable
   */
  async isReady(): Promise<boolean> {
    const isReady = ({ state }: Heartbeat): boolean => state === 'ready';
    if (this.#readyIds.length > 0 && (await this.#look(this.#readyIds)).processes.some(isReady)) return true;
    this.#readyIds = (await this.read()).processes.filter(isReady).map(({ id }) => id);
    return this.#readyIds.length > 0;
  }

  /**
   * Looks once a second, until stopped, whether a process is left for work that has begun. One that drains
   * counts, because it ends its own work. One that loads counts, because it may take the work over. One whose
   * model does not load does not count.
   * @param onGone called when two looks in a row have found none, within 2 s of the last heartbeat's end.
   * (After a pause of Redis the second look finds a beat.)
   * @returns what stops it
   */
  watch(onGone: () => void): () => void {
    let emptyLooks = 0;
    const look = async (): Promise<void> => {
      const { processes } = await this.read();
      const isLeft = processes.some(({ error }) => error === undefined);
      emptyLooks = isLeft ? 0 : emptyLooks + 1;
      if (emptyLooks === 2) onGone();
    };
    // A look that Redis does not answer says nothing: whoever waits hears of that from the renewals of its slot.
    const timer = setInterval(() => void look().catch(() => undefined), LOOK_MS);
    return () => clearInterval(timer);
  }

  /** @throws StoreUnavailable */
  async read(): Promise<Readiness> {
    return this.#look(await this.#store.ask((redis, { inferences }) => redis.zrange(inferences, 0, '-1')));
  }

  /**
   * @returns ms since the last heartbeat of each process, by the clock of Redis; one that is gone has the
   * longest age.
   * @throws StoreUnavailable
   */
  async heartbeatAgesMs(ids: readonly string[]): Promise<number[]> {
    const leftMs = ids.map((id) => this.#store.ask((redis, keys) => redis.pttl(keys.inference(id))));
    return (await Promise.all(leftMs)).map((left) => HEARTBEAT_TTL_MS - Math.max(0, left));
  }

  async #run(id: string, value: string, ttlMs: number): Promise<void> {
    const { keys } = this.#store;
    await this.#store.run('readiness/beat.lua', [keys.inference(id), keys.inferences], id, value, ttlMs);
  }

  async #look(ids: readonly string[]): Promise<Readiness> {
    const [holder, ...states] = await this.#store.ask((redis, keys) =>
      redis.mget(keys.slot, ...ids.map((id) => keys.inference(id))),
    );
    const processes = states.flatMap((state) => (state === null ? [] : (readHeartbeat(state) ?? [])));
    return {
      ready: processes.some((process) => process.state === 'ready'),
      busy: typeof holder === 'string',
      error: processes.find((process) => process.error !== undefined)?.error,
      processes,
    };
  }
}
