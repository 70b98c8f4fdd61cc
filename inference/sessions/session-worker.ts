import { setTimeout as delay } from 'node:timers/promises';
import { audioMs } from '../../common/audio/limits.ts';
import { StoreUnavailable } from '../../common/errors/errors.ts';
import type { Logger } from '../../common/process/log.ts';
import { inSpan } from '../../common/process/traces.ts';
import { closeRedis } from '../../common/redis/connection.ts';
import { LEASE_RENEW_MS } from '../../common/sessions/entries.ts';
import { SessionConsumer, sessionAnnounced } from '../../common/sessions/session-consumer.ts';
import { readSlotHolder } from '../../common/slot/slot.ts';
import type { Store } from '../../common/store/store.ts';
import { tenths } from '../../common/time/tenths.ts';
import { SessionRun, type SessionRunParts } from './session-run.ts';

/** The longest time until a lost lease is seen, of another process or of this one. */
const STANDBY_POLL_MS = 50;
/**
 * The longest time until a session is seen whose announcement was lost with Redis' memory. An announcement
 * that comes ends this wait at once.
 */
const IDLE_POLL_MS = 400;
const RETRY_MS = 100;

export interface SessionWorkerParts extends SessionRunParts {
  readonly store: Store;
  /** Names this process in leases. */
  readonly processId: string;
  readonly log: Logger;
}

/**
 * Serves one stream session after another:
 *
 *   looking ─┬─ the slot's holder is a session without a lease, and the claim succeeds → serving → looking
 *      ↑ └───┤
 *      │     ├─ Redis is away: again after 100 ms
 *      └─────┴─ an announcement, or 400 ms (50 ms while another process has a session, or this one lost it)
 *
 * An announcement only says that a poll is worth while. What there is to serve is always read from the slot.
 * So a session is found in the same way if its announcement was missed, if its process was killed, or if this
 * process lost it while it was paused.
 */
export class SessionWorker {
  readonly #parts: SessionWorkerParts;
  readonly #stopping = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  #isWaiting = false;

  constructor(parts: SessionWorkerParts) {
    this.#parts = parts;
  }

  /** @param isReDecoding of the model that is loaded */
  start(isReDecoding: boolean): void {
    this.#ended = this.#serve(isReDecoding);
  }

  /** Takes no new session. Resolves when the one being served has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // Nobody reads from it any more.
    if (this.#isWaiting) closeRedis(this.#parts.blocking);
    await this.#ended;
  }

  async #serve(isReDecoding: boolean): Promise<void> {
    const { blocking, store, log } = this.#parts;
    // From the first one that is kept: none may fall between two reads.
    let after = '0';
    while (!this.#stopping.signal.aborted) {
      try {
        const pollMs = (await this.#serveNext(isReDecoding)) ? STANDBY_POLL_MS : IDLE_POLL_MS;
        if (this.#stopping.signal.aborted) return;
        this.#isWaiting = true;
        after = await sessionAnnounced(blocking, store.keys, after, pollMs);
      } catch (error) {
        // An outage is logged once, by the connections.
        if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'looking for sessions failed');
        if (this.#stopping.signal.aborted) return;
        await delay(RETRY_MS);
      } finally {
        this.#isWaiting = false;
      }
    }
  }

  /**
   * Serves the session that holds the slot, if nobody else does.
   * @returns whether there is one that may need this process yet
   */
  async #serveNext(isReDecoding: boolean): Promise<boolean> {
    const { store, slot, processId } = this.#parts;
    const holder = await slot.holder();
    const owner = holder === undefined ? undefined : readSlotHolder(holder);
    if (holder === undefined || owner?.via !== 'ws') return false;
    const session = new SessionConsumer(store, owner.id, holder, processId);
    if (!(await session.claim())) return true;
    const renewals = setInterval(() => {
      // Redis is away; if it is back before the lease has run out, nothing has happened.
      session.renewLease().catch(() => undefined);
    }, LEASE_RENEW_MS);
    try {
      const run = new SessionRun(this.#parts, isReDecoding, session);
      await inSpan('recognition', () => this.#run(run, owner.id), owner.trace);
    } finally {
      clearInterval(renewals);
    }
    // Served or not: the session may have been lost to another process, or with Redis.
    return true;
  }

  async #run(run: SessionRun, sessionId: string): Promise<void> {
    const { log } = this.#parts;
    const startedAtMs = performance.now();
    const end = await run.run();
    const line = {
      sessionId,
      outcome: end.kind,
      audioMs: audioMs(run.takenBytes),
      modelMs: tenths(run.modelMs),
      tailModelMs: tenths(run.tailModelMs),
      durationMs: Math.round(performance.now() - startedAtMs),
    };
    if (end.kind === 'failed' || end.kind === 'store-refused')
      log.error({ ...line, reason: end.message }, 'session');
    else log.info(line, 'session');
  }
}
