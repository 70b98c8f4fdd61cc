import { ServiceFailure } from '../../common/errors/errors.ts';
import { TraceSpan } from '../../common/process/traces.ts';
import { SessionProducer } from '../../common/sessions/session-producer.ts';
import type { Store } from '../../common/store/store.ts';
import type { Access } from '../http/access.ts';
import { ActiveStream, type ActiveStreamParts, type StreamEvents } from './active-stream.ts';

interface StreamOpenerParts extends ActiveStreamParts {
  readonly access: Access;
  readonly store: Store;
}

/** Whether the handshake's header was right; if it had none, what `start` carried. */
type Credential = 'preauthorized' | { token: string | undefined };

/** From a valid `start` to an open session: token → model ready → slot → session in the store. */
export class StreamOpener {
  readonly #parts: StreamOpenerParts;

  constructor(parts: StreamOpenerParts) {
    this.#parts = parts;
  }

  /** @throws ServiceFailure `unauthorized`, `not_ready` or `busy`; StoreUnavailable */
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
    const { access, admission, store } = this.#parts;
    checkCredential(access, credential);
    await admission.expectUsable();
    const { holder, fence } = await admission.admit(sessionId, 'ws');
    const producer = new SessionProducer(store, sessionId, holder);
    const stream = new ActiveStream(this.#parts, producer, events, span);
    await stream.open(fence);
    return stream;
  }
}

/** @throws ServiceFailure `unauthorized` */
function checkCredential(access: Access, credential: Credential): void {
  if (credential === 'preauthorized') return;
  const { token } = credential;
  if (token !== undefined && access.allowsToken(token)) return;
  const found = token === undefined ? 'there is no token' : 'the token is wrong';
  throw new ServiceFailure('unauthorized', `${found}; send an Authorization header or api_token in "start"`);
}
