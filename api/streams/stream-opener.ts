import { RECOGNITION_GONE, StoreUnavailable } from '../../common/errors/errors.ts';
import { TraceSpan, traceparent } from '../../common/process/traces.ts';
import type { ReadinessStore } from '../../common/readiness/readiness.ts';
import type { RedisKeys } from '../../common/redis/keys.ts';
import { retryUntilAnswered } from '../../common/redis/retry.ts';
import type { RedisClient } from '../../common/redis/scripts.ts';
import { LEASE_TTL_MS, parseResultEntry, type ResultEntry } from '../../common/sessions/entries.ts';
import { SessionProducer, type SessionProducerScripts } from '../../common/sessions/session-producer.ts';
import { SLOT_RENEW_MS, SLOT_TTL_MS, type Slot, slotHolder } from '../../common/slot/slot.ts';
import type { Access } from '../http/access.ts';
import type { BackgroundWork } from '../http/background-work.ts';
import type { ResultFeed } from '../slot/result-feed.ts';
import { acquireSlot, keepSlot } from '../slot/slot-keeper.ts';
import { StreamFailure } from './stream-failure.ts';

/** What a session needs of a recording that has the slot. */
export interface ActiveStream {
  /** @throws StoreUnavailable */
  append(frame: Buffer): Promise<void>;
  /** @throws StoreUnavailable */
  end(): Promise<void>;
  /** Whether an inference process works on the recording now. @throws StoreUnavailable */
  isServed(): Promise<boolean>;
  /** The last result was sent. */
  done(): void;
  /** There will be no result: the client is gone or was refused. The slot is freed when a running model call has returned. */
  abort(): void;
}

interface StreamEvents {
  onResult(entry: ResultEntry): void;
  onFailure(failure: unknown): void;
}

/** How long after a lost slot a last result may still be on its way: the script that publishes it frees the slot. */
const LAST_RESULT_GRACE_MS = 1_000;

interface StreamOpenerParts {
  readonly access: Access;
  readonly readiness: ReadinessStore;
  readonly slot: Slot;
  readonly feed: ResultFeed;
  readonly redis: RedisClient;
  readonly keys: RedisKeys;
  readonly scripts: SessionProducerScripts;
  readonly replica: string;
  readonly background: BackgroundWork;
}

/** Whether the handshake's header was right; if it had none, what `start` carried. */
type Credential = 'preauthorized' | { token: string | undefined };

/** From a valid `start` to an open session: token → model ready → slot → session in the store. */
export class StreamOpener {
  readonly #parts: StreamOpenerParts;

  constructor(parts: StreamOpenerParts) {
    this.#parts = parts;
  }

  /** @throws StreamFailure `unauthorized`, `not_ready` or `busy`; StoreUnavailable */
  open(sessionId: string, credential: Credential, events: StreamEvents): Promise<ActiveStream> {
    const span = new TraceSpan('stream');
    const opening = span.run(() => this.#open(sessionId, credential, events, span));
    opening.catch((error: unknown) => span.end(error));
    // If the client hangs up meanwhile, the session ends only once it is open. A shutdown has to wait for that.
    this.#parts.background.add(opening);
    return opening;
  }

  async #open(
    sessionId: string,
    credential: Credential,
    events: StreamEvents,
    span: TraceSpan,
  ): Promise<ActiveStream> {
    const { access, readiness, slot, feed, redis, keys, scripts, replica, background } = this.#parts;
    checkCredential(access, credential);
    if (!(await readiness.isReady()))
      throw new StreamFailure('not_ready', 'the model is not ready yet; try again shortly');

    const since = new Date().toISOString();
    const holder = slotHolder({ id: sessionId, via: 'ws', replica, since, trace: traceparent() });
    const producer = new SessionProducer(redis, keys, scripts, sessionId, holder);
    const fence = await acquireSlot(slot, holder, (free) => background.run({ sessionId }, free));
    if (fence === undefined)
      throw new StreamFailure('busy', 'another recognition task is active; try again shortly');

    let graceTimer: NodeJS.Timeout | undefined;
    // A last result within this time ends the session, which then ignores the failure.
    const slotLost = (): void => {
      const lost = new StreamFailure('inference_failed', 'the recognition slot was lost');
      graceTimer ??= setTimeout(() => events.onFailure(lost), LAST_RESULT_GRACE_MS);
    };
    const stopKeeping = keepSlot(slot, holder, (loss) => {
      if (loss.kind === 'store-unavailable')
        return events.onFailure(new StoreUnavailable('the slot could not be renewed'));
      slotLost();
    });
    let isAbandoned = false;
    const stopWatching = readiness.watch(() => {
      isAbandoned = true;
      events.onFailure(new StreamFailure('not_ready', RECOGNITION_GONE));
    });
    const unsubscribe = feed.subscribe(keys.results(sessionId), (raw) => {
      try {
        events.onResult(parseResultEntry(raw));
      } catch (error) {
        events.onFailure(error);
      }
    });
    let endTimer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      stopKeeping();
      stopWatching();
      clearInterval(endTimer);
      clearTimeout(graceTimer);
      unsubscribe();
    };
    const abort = (): void => {
      stop();
      // Tried for as long as the slot lasts: until it is freed nobody else is served.
      background.run({ sessionId }, () =>
        retryUntilAnswered(performance.now() + SLOT_TTL_MS, () => producer.abort(isAbandoned)),
      );
    };
    try {
      if (!(await producer.open(fence)))
        throw new StreamFailure('not_ready', 'the recognition slot was lost; try again');
    } catch (error) {
      abort();
      throw error;
    }
    const openedAtMs = performance.now();
    return {
      // A session that has ended takes no more audio. Its last result is mostly on its way, and says why. If none comes, the slot was lost. The next renewal
      // would find that too, but perhaps only after two seconds of audio have piled up. Then the client would be told `overloaded`.
      append: async (frame) => {
        if (!(await producer.append(frame))) slotLost();
      },
      end: () => {
        // A Redis server that has just become the master may lack what came last. Without the end, both sides would wait for each other.
        endTimer = setInterval(() => void producer.end().catch(() => undefined), SLOT_RENEW_MS);
        return producer.end();
      },
      // At first nobody has had the time to claim it. A client that has sent two seconds of audio by then is faster than speech.
      isServed: async () => performance.now() - openedAtMs < LEASE_TTL_MS || (await producer.isServed()),
      done: () => {
        stop();
        span.end();
        // Behind the messages that end the connection.
        background.run({ sessionId }, () => producer.forget());
      },
      abort: () => {
        abort();
        span.end();
      },
    };
  }
}

/** @throws StreamFailure `unauthorized` */
function checkCredential(access: Access, credential: Credential): void {
  if (credential === 'preauthorized') return;
  const { token } = credential;
  if (token !== undefined && access.allowsToken(token)) return;
  const found = token === undefined ? 'there is no token' : 'the token is wrong';
  throw new StreamFailure('unauthorized', `${found}; send an Authorization header or api_token in "start"`);
}
