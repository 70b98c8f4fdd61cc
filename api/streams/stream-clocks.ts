import { ServiceFailure } from '../../common/errors/errors.ts';
import { afterSilence } from '../../common/time/timer.ts';

export interface StreamTimeouts {
  /** For the first message, and between messages after `ready`. */
  readonly messageMs: number;
  /** From `ready` to the end of the session. */
  readonly sessionMs: number;
}
export const STREAM_TIMEOUTS: StreamTimeouts = { messageMs: 10_000, sessionMs: 40_000 };

/** The two clocks of a session. Each one that runs out says `timeout` to `onTimeout`. */
export class StreamClocks {
  readonly #timeouts: StreamTimeouts;
  readonly #onTimeout: (failure: ServiceFailure) => void;
  #messageCame: () => void = () => undefined;
  #session: NodeJS.Timeout | undefined;

  constructor(timeouts: StreamTimeouts, onTimeout: (failure: ServiceFailure) => void) {
    this.#timeouts = timeouts;
    this.#onTimeout = onTimeout;
  }

  /** From now on a message is due. @param awaited what, for the client to read */
  awaitMessage(awaited: string): void {
    const { messageMs } = this.#timeouts;
    this.awaitNothing();
    this.#messageCame = afterSilence(messageMs, () =>
      this.#runOut(`no ${awaited} for ${messageMs / 1000} s`),
    );
  }

  /** No message is due: the server works, or the client has said its last. */
  awaitNothing(): void {
    this.#messageCame();
  }

  sessionBegins(): void {
    const { sessionMs } = this.#timeouts;
    this.#session = setTimeout(
      () => this.#runOut(`the session is over ${sessionMs / 1000} s old`),
      sessionMs,
    );
  }

  stop(): void {
    this.awaitNothing();
    clearTimeout(this.#session);
  }

  #runOut(message: string): void {
    this.#onTimeout(new ServiceFailure('timeout', message));
  }
}
