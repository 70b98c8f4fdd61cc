import { fromStore } from '../redis/connection.ts';
import type { RedisKeys } from '../redis/keys.ts';
import { LuaScript, type RedisClient } from '../redis/scripts.ts';

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
  readonly #redis: RedisClient;
  readonly #keys: RedisKeys;
  readonly #beat = new LuaScript('readiness/beat.lua');
  /** The processes that were ready at the last look: they are looked at first. */
  #readyIds: readonly string[] = [];

  constructor(redis: RedisClient, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** @throws StoreUnavailable */
  async beat(heartbeat: Heartbeat): Promise<void> {
    const keys = [this.#keys.inference(heartbeat.id), this.#keys.inferences];
    await fromStore(
      this.#beat.run(this.#redis, keys, [heartbeat.id, JSON.stringify(heartbeat), HEARTBEAT_TTL_MS]),
    );
  }

  /** The process is gone for good. @throws StoreUnavailable */
  async stop(id: string): Promise<void> {
    await fromStore(
      this.#beat.run(this.#redis, [this.#keys.inference(id), this.#keys.inferences], [id, '', 0]),
    );
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
    return this.#look(await fromStore(this.#redis.zrange(this.#keys.inferences, 0, '-1')));
  }

  /**
   * @returns ms since the last heartbeat of each process, by the clock of Redis; one that is gone has the
   * longest age.
   * @throws StoreUnavailable
   */
  async heartbeatAgesMs(ids: readonly string[]): Promise<number[]> {
    const leftMs = ids.map((id) => fromStore(this.#redis.pttl(this.#keys.inference(id))));
    return (await Promise.all(leftMs)).map((left) => HEARTBEAT_TTL_MS - Math.max(0, left));
  }

  async #look(ids: readonly string[]): Promise<Readiness> {
    const processKeys = ids.map((id) => this.#keys.inference(id));
    const [holder, ...states] = await fromStore(this.#redis.mget(this.#keys.slot, ...processKeys));
    const processes = states.flatMap((state) => (state === null ? [] : (readHeartbeat(state) ?? [])));
    return {
      ready: processes.some((process) => process.state === 'ready'),
      busy: typeof holder === 'string',
      error: processes.find((process) => process.error !== undefined)?.error,
      processes,
    };
  }
}
