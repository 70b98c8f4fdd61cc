import type { Store } from '../store/store.ts';
import { HeartbeatStore } from './heartbeats.ts';

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

/** The heartbeats of the inference processes. Each writes its own, and every API replica reads them all. */
export class ReadinessStore extends HeartbeatStore<Heartbeat> {
  /** The processes that were ready at the last look: they are looked at first. */
  #readyIds: readonly string[] = [];

  constructor(store: Store) {
    super(store, (id) => store.keys.inference(id), store.keys.inferences, readHeartbeat);
  }

  /**
   * Looks first at the processes that could recognize the last time, and at all of them only if none of those
   * can any more.
   * @throws StoreUnavailable
   */
  async look(): Promise<Readiness> {
    const last = readinessOf(await this.said(this.#readyIds));
    if (last.ready) return last;
    const now = await this.read();
    this.#readyIds = now.processes.filter(isReady).map(({ id }) => id);
    return now;
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
    return readinessOf(await this.said());
  }
}

const isReady = ({ state }: Heartbeat): boolean => state === 'ready';

function readinessOf(processes: readonly Heartbeat[]): Readiness {
  const error = processes.find((process) => process.error !== undefined)?.error;
  return { ready: processes.some(isReady), error, processes };
}
