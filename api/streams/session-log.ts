import type { StreamErrorCode } from '../../common/errors/errors.ts';

/** What is logged and counted when a session has ended; never text, audio or token. */
export interface StreamSummary {
  readonly sessionId: string;
  readonly outcome: 'final' | 'error' | 'disconnected' | 'shutdown';
  /** `protocol_error`: what came breaks RFC 6455 or its bounds here; only logs and metrics know it, the client has the close code. */
  readonly code: StreamErrorCode | 'protocol_error' | undefined;
  /** Why the service could not serve it, or what about the protocol; nothing that the client sent. */
  readonly reason: string | undefined;
  readonly audioMs: number;
  readonly partials: number;
  readonly takeovers: number;
  readonly finalizeMs: number | undefined;
  readonly sessionMs: number;
}

/** The figures of one session on their way to its summary. */
export class SessionLog {
  readonly #startedAtMs = performance.now();
  #partials = 0;
  #claimant: string | undefined;
  #takeovers = 0;
  #endReceivedAtMs = 0;
  #finalizeMs: number | undefined;

  /** An inference process has begun with the recording; one that stood still begins again with its own. */
  claimed(by: string): void {
    if (this.#claimant !== undefined && by !== this.#claimant) this.#takeovers += 1;
    this.#claimant = by;
  }

  partialSent(): void {
    this.#partials += 1;
  }

  endReceived(): void {
    this.#endReceivedAtMs = performance.now();
  }

  /** @returns ms from the client's `end` until now, to a tenth */
  finalized(): number {
    this.#finalizeMs = Math.round((performance.now() - this.#endReceivedAtMs) * 10) / 10;
    return this.#finalizeMs;
  }

  summary(end: Pick<StreamSummary, 'sessionId' | 'outcome' | 'code' | 'reason' | 'audioMs'>): StreamSummary {
    return {
      ...end,
      partials: this.#partials,
      takeovers: this.#takeovers,
      finalizeMs: this.#finalizeMs,
      sessionMs: Math.round(performance.now() - this.#startedAtMs),
    };
  }
}
