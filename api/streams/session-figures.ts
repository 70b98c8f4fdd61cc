import type { StreamErrorCode } from '../../common/errors/errors.ts';
import { tenths } from '../../common/time/tenths.ts';

/** What is logged and counted when a session has ended; never text, audio or token. */
export interface StreamSummary {
  readonly sessionId: string;
  readonly outcome: 'final' | 'error' | 'disconnected' | 'shutdown';
  /**
   * `protocol_error`: what came breaks RFC 6455 or its bounds here. Only logs and metrics know this code; the
   * client has the close code.
   */
  readonly code: StreamErrorCode | 'protocol_error' | undefined;
  /** Why the service could not serve it, or what broke the protocol. Holds nothing that the client sent. */
  readonly reason: string | undefined;
  readonly audioMs: number;
  readonly partials: number;
  readonly takeovers: number;
  /** From `start` until an inference process has taken the recording. */
  readonly queueMs: number | undefined;
  /** From the first audio to the first partial. */
  readonly firstPartialMs: number | undefined;
  readonly finalizeMs: number | undefined;
  readonly sessionMs: number;
}

/** The figures of one session on their way to its summary. */
export class SessionFigures {
  readonly #startedAtMs = performance.now();
  #partials = 0;
  #claimant: string | undefined;
  #takeovers = 0;
  #startReceivedAtMs = 0;
  #queueMs: number | undefined;
  #firstAudioAtMs: number | undefined;
  #firstPartialMs: number | undefined;
  #endReceivedAtMs = 0;
  #finalizeMs: number | undefined;

  startReceived(): void {
    this.#startReceivedAtMs = performance.now();
  }

  /** An inference process has begun with the recording. If it had begun before, that is no takeover. */
  claimed(by: string): void {
    this.#queueMs ??= since(this.#startReceivedAtMs);
    if (this.#claimant !== undefined && by !== this.#claimant) this.#takeovers += 1;
    this.#claimant = by;
  }

  audioReceived(): void {
    this.#firstAudioAtMs ??= performance.now();
  }

  partialSent(): void {
    this.#partials += 1;
    if (this.#firstAudioAtMs !== undefined) this.#firstPartialMs ??= since(this.#firstAudioAtMs);
  }

  endReceived(): void {
    this.#endReceivedAtMs = performance.now();
  }

  /** @returns ms from the client's `end` until now, to a tenth */
  finalized(): number {
    this.#finalizeMs = since(this.#endReceivedAtMs);
    return this.#finalizeMs;
  }

  summary(end: Pick<StreamSummary, 'sessionId' | 'outcome' | 'code' | 'reason' | 'audioMs'>): StreamSummary {
    return {
      ...end,
      partials: this.#partials,
      takeovers: this.#takeovers,
      queueMs: this.#queueMs,
      firstPartialMs: this.#firstPartialMs,
      finalizeMs: this.#finalizeMs,
      sessionMs: Math.round(performance.now() - this.#startedAtMs),
    };
  }
}

/** @returns milliseconds, to a tenth */
function since(startedAtMs: number): number {
  return tenths(performance.now() - startedAtMs);
}
