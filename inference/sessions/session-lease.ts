import { LEASE_RENEW_MS } from '../../common/sessions/entries.ts';
import type { SessionConsumer } from '../../common/sessions/session-consumer.ts';

/** Keeps a claimed session this process's until stopped. */
export class SessionLease {
  readonly sessionId: string;
  readonly token: string;
  readonly #timer: NodeJS.Timeout;

  constructor(consumer: SessionConsumer, sessionId: string, token: string) {
    this.sessionId = sessionId;
    this.token = token;
    this.#timer = setInterval(() => {
      // Redis is away; if it is back before the lease has run out, nothing has happened.
      consumer.renewLease(sessionId, token).catch(() => undefined);
    }, LEASE_RENEW_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
