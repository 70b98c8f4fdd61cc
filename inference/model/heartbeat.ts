import { StoreUnavailable } from '../../common/errors/errors.ts';
import {
  HEARTBEAT_INTERVAL_MS,
  type Heartbeat,
  type ReadinessStore,
} from '../../common/readiness/readiness.ts';
import type { OutageLog } from '../../common/redis/outage.ts';

type Identity = Pick<Heartbeat, 'id' | 'host' | 'pid' | 'version'>;
type Report = Omit<Heartbeat, keyof Identity>;

/*
 *   loading ──model loaded──→ ready ──signal──→ draining ──→ (gone)
 *    ↑ │ │                                        ↑
 *    │ │ └────────────── signal ──────────────────┘
 *    │ └── failed: `error` says what, still loading ──┐
 *    └──────────── next attempt ──────────────────────┘
 */
type State = Heartbeat['state'];

const NEXT: Readonly<Record<State, readonly State[]>> = {
  loading: ['loading', 'ready', 'draining'],
  ready: ['draining'],
  // Told to end twice.
  draining: ['draining'],
};

/** Says in the store what this process is doing: once a second, and at once when it changes. */
export class HeartbeatSender {
  readonly #store: ReadinessStore;
  readonly #identity: Identity;
  readonly #outages: OutageLog;
  #report: Report = { state: 'loading' };
  #timer: NodeJS.Timeout | undefined;

  constructor(store: ReadinessStore, identity: Identity, outages: OutageLog) {
    this.#store = store;
    this.#identity = identity;
    this.#outages = outages;
  }

  start(): void {
    this.#timer = setInterval(() => void this.beat(), HEARTBEAT_INTERVAL_MS);
    void this.beat();
  }

  /** Resolves when the change has been written, or could not be: then the next beat writes it. */
  async report(report: Report): Promise<void> {
    const { state } = this.#report;
    if (!NEXT[state].includes(report.state))
      throw new Error(`heartbeat: ${state} → ${report.state} is no transition`);
    this.#report = report;
    await this.beat();
  }

  /** The model goes on working for what has begun, and takes nothing new. */
  async drain(): Promise<void> {
    await this.report({ ...this.#report, state: 'draining' });
  }

  /**
   * The beats go on in an outage. They are the one thing that this process always writes, so they also show a
   * Redis that takes nothing.
   */
  async beat(): Promise<void> {
    try {
      await this.#store.beat({ ...this.#identity, ...this.#report });
      this.#outages.worked();
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#outages.failed(error);
    }
  }

  /**
   * The process is gone: its entry is removed.
   * @throws StoreUnavailable; the entry then ends with its TTL.
   */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#store.stop(this.#identity.id);
  }
}
