import { TraceSpan, traceparent } from '../../common/process/traces.ts';
import type { ReplicaHeartbeat } from '../../common/readiness/replicas.ts';
import type { RedisClient } from '../../common/redis/scripts.ts';
import { SessionProducer, type SessionProducerScripts } from '../../common/sessions/session-producer.ts';
import { slotHolder } from '../../common/slot/slot.ts';
import type { Access } from '../http/access.ts';
import { acquireSlot } from '../slot/slot-keeper.ts';
import { ActiveStream, type ActiveStreamParts, type StreamEvents } from './active-stream.ts';
import { StreamFailure } from './stream-failure.ts';

interface StreamOpenerParts extends ActiveStreamParts {
  readonly access: Access;
  readonly heartbeat: ReplicaHeartbeat;
  readonly redis: RedisClient;
  readonly scripts: SessionProducerScripts;
  readonly replica: string;
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
    // If the client hangs up meanwhile, the session ends only once it is open. A shutdown waits for that.
    this.#parts.background.add(opening);
    return opening;
  }

  async #open(
    sessionId: string,
    credential: Credential,
    events: StreamEvents,
    span: TraceSpan,
  ): Promise<ActiveStream> {
    const { access, readiness, heartbeat, slot, redis, keys, scripts, replica, background } = this.#parts;
    checkCredential(access, credential);
    const isReady = await readiness.isReady();
    await heartbeat.expectWritten();
    if (!isReady) throw new StreamFailure('not_ready', 'the model is not ready yet; try again shortly');
    const since = new Date().toISOString();
    const holder = slotHolder({ id: sessionId, via: 'ws', replica, since, trace: traceparent() });
    const fence = await acquireSlot(slot, holder, (free) => background.run({ sessionId }, free));
    if (fence === undefined)
      throw new StreamFailure('busy', 'another recognition task is active; try again shortly');
    const producer = new SessionProducer(redis, keys, scripts, sessionId, holder);
    const stream = new ActiveStream(this.#parts, producer, events, span);
    await stream.open(fence);
    return stream;
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
