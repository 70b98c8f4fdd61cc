import { refused, ServiceFailure, StoreUnavailable } from '../../common/errors/errors.ts';
import type { TraceSpan } from '../../common/process/traces.ts';
import { LEASE_TTL_MS, parseResultEntry, type ResultEntry } from '../../common/sessions/entries.ts';
import type { SessionProducer } from '../../common/sessions/session-producer.ts';
import { SLOT_RENEW_MS, SLOT_TTL_MS } from '../../common/slot/slot.ts';
import type { StreamEntry } from '../../common/store/result-streams.ts';
import { retryUntilAnswered } from '../../common/store/retry.ts';
import type { Admission, AdmittedWork } from '../slot/admission.ts';
import type { BackgroundWork } from '../slot/background-work.ts';
import type { ResultFeed } from '../slot/result-feed.ts';
import type { SlotLoss } from '../slot/slot-keeper.ts';

/** How long after a lost slot a last result may still come: the script that publishes it frees the slot. */
const LAST_RESULT_GRACE_MS = 1_000;

export interface StreamEvents {
  onResult(entry: ResultEntry): void;
  onFailure(failure: unknown): void;
}

export interface ActiveStreamParts {
  readonly admission: Admission;
  readonly feed: ResultFeed;
  readonly background: BackgroundWork;
}

/**
 * A stream that has the slot, until its end:
 *
 *   opening ─┬─ session in the store ──────→ open ─┬─ last result sent ────────→ done
 *            │                                     └─ client gone or refused ─┐
 *            └─ slot lost, or Redis away ─────────────────────────────────────┴→ aborted
 *
 * Until then the slot is renewed, results are handed on, and the inference processes are watched. What fails
 * meanwhile goes to `onFailure`, which aborts the stream:
 *
 *   the slot is lost → `inference_failed`, unless a last result ends the stream within a second
 *   Redis is away → StoreUnavailable     no inference process is left → `not_ready`
 */
export class ActiveStream implements AdmittedWork {
  readonly #producer: SessionProducer;
  readonly #events: StreamEvents;
  readonly #background: BackgroundWork;
  readonly #span: TraceSpan;
  readonly #stopKeeping: () => void;
  readonly #unsubscribe: () => void;
  #graceTimer: NodeJS.Timeout | undefined;
  #endTimer: NodeJS.Timeout | undefined;
  #openedAtMs = 0;
  #isAbandoned = false;

  constructor(parts: ActiveStreamParts, producer: SessionProducer, events: StreamEvents, span: TraceSpan) {
    const { admission, feed, background } = parts;
    this.#producer = producer;
    this.#events = events;
    this.#background = background;
    this.#span = span;
    this.#stopKeeping = admission.keep(producer.holder, this);
    this.#unsubscribe = feed.subscribe(producer.resultStream, (entry) => this.#result(entry));
  }

  /** Announces the session. If that fails, the stream is aborted. @throws ServiceFailure; StoreUnavailable */
  async open(fence: number): Promise<void> {
    try {
      if (!(await this.#producer.open(fence)))
        throw new ServiceFailure('not_ready', 'the recognition slot was lost; try again');
    } catch (error) {
      this.#abort();
      throw error;
    }
    this.#openedAtMs = performance.now();
  }

  /** @throws StoreUnavailable */
  async append(frame: Buffer): Promise<void> {
    // A session that has ended takes no more audio. Its last result is mostly on its way, and says why. If
    // none comes, the slot was lost. The next renewal would find that too, but perhaps only after two seconds
    // of audio have piled up. Then the client would be told `overloaded`.
    if (!(await this.#producer.append(frame))) this.#awaitLastResult();
  }

  /** @throws StoreUnavailable */
  end(): Promise<void> {
    // A Redis server that has just become the master may lack what came last. Without the end, both sides
    // would wait for each other.
    this.#endTimer = setInterval(() => void this.#producer.end().catch(() => undefined), SLOT_RENEW_MS);
    return this.#producer.end();
  }

  /** Whether an inference process works on the recording now. @throws StoreUnavailable */
  async isServed(): Promise<boolean> {
    // At first nobody has had the time to claim it: two seconds of audio by then are faster than speech.
    return performance.now() - this.#openedAtMs < LEASE_TTL_MS || (await this.#producer.isServed());
  }

  /** The last result was sent. */
  done(): void {
    this.#stop();
    this.#span.end();
    // Behind the messages that end the connection.
    this.#clean(() => this.#producer.forget());
  }

  /** There will be no result. The slot is freed when a running model call has returned. */
  abort(): void {
    this.#abort();
    this.#span.end();
  }

  #abort(): void {
    this.#stop();
    // Tried for as long as the slot lasts: until it is freed nobody else is served.
    this.#clean(() =>
      retryUntilAnswered(performance.now() + SLOT_TTL_MS, () => this.#producer.abort(this.#isAbandoned)),
    );
  }

  #stop(): void {
    this.#stopKeeping();
    this.#unsubscribe();
    clearInterval(this.#endTimer);
    clearTimeout(this.#graceTimer);
  }

  #clean(clean: () => Promise<unknown>): void {
    this.#background.run({ sessionId: this.#producer.sessionId }, clean);
  }

  #result(entry: StreamEntry): void {
    try {
      this.#events.onResult(parseResultEntry(entry));
    } catch (error) {
      this.#events.onFailure(error);
    }
  }

  slotLost(loss: SlotLoss): void {
    if (loss.kind === 'lost') this.#awaitLastResult();
    else this.#events.onFailure(new StoreUnavailable('the slot could not be renewed'));
  }

  #awaitLastResult(): void {
    const lost = new ServiceFailure('inference_failed', 'the recognition slot was lost');
    this.#graceTimer ??= setTimeout(() => this.#events.onFailure(lost), LAST_RESULT_GRACE_MS);
  }

  abandoned(): void {
    this.#isAbandoned = true;
    this.#events.onFailure(refused('recognition gone'));
  }
}
