import type { StreamErrorCode } from '../common/errors.ts';

/** What is logged and counted when a session has ended; never text, audio or token. */
export interface StreamSummary {
  readonly sessionId: string;
  readonly outcome: 'final' | 'error' | 'disconnected' | 'shutdown';
  readonly code: StreamErrorCode | undefined;
  /** Why the service could not serve it; nothing that the client sent. */
  readonly reason: string | undefined;
  readonly audioMs: number;
  readonly partials: number;
  readonly takeovers: number;
  readonly finalizeMs: number | undefined;
  readonly sessionMs: number;
}

/** The figures of one session on their way to its summary. */
export class StreamTally {
  readonly #startedAtMs = performance.now();
  #partials = 0;
  #claims = 0;
  #endReceivedAtMs = 0;
  #finalizeMs: number | undefined;

  /** An inference process has begun with the recording; each but the first one took it over. */
  claimed(): void {
    this.#claims += 1;
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
      takeovers: Math.max(0, this.#claims - 1),
      finalizeMs: this.#finalizeMs,
      sessionMs: Math.round(performance.now() - this.#startedAtMs),
    };
  }
}
