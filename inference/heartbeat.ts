import { HeartbeatSender } from '../common/readiness/heartbeats.ts';
import type { Heartbeat, ReadinessStore } from '../common/readiness/readiness.ts';
import type { OutageLog } from '../common/redis/advice/outage.ts';

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

/** What this inference process is doing: said once a second, and at once when it changes. */
export class InferenceHeartbeat extends HeartbeatSender<Heartbeat> {
  readonly #identity: Identity;

  constructor(store: ReadinessStore, identity: Identity, outages: OutageLog) {
    super(store, { ...identity, state: 'loading' }, outages);
    this.#identity = identity;
  }

  /** Resolves when the change has been written, or could not be: then the next beat writes it. */
  async report(report: Report): Promise<void> {
    const { state } = this.said;
    if (!NEXT[state].includes(report.state))
      throw new Error(`heartbeat: ${state} → ${report.state} is no transition`);
    await this.say({ ...this.#identity, ...report });
  }

  /** The model goes on working for what has begun, and takes nothing new. */
  async drain(): Promise<void> {
    await this.report({ ...this.said, state: 'draining' });
  }
}
