import type { AsrClientCore } from '../../client/client.ts';
import type { LiveTranscription } from '../../client/long/live-transcription.ts';
import type { Transcript } from '../../client/protocol/transcript.ts';
import { audioMs, BYTES_PER_SAMPLE } from '../../common/audio/limits.ts';
import { asFailure, Failure } from '../service/failures.ts';
import { readiness } from '../service/service.ts';

/** Live text is up to two seconds behind where nothing is wrong. */
const BEHIND_FROM_MS = 3_000;
const CAUGHT_UP_MS = 1_000;

/** A person sees that it waits, and can stop it. */
export const PATIENCE_MS = 600_000;

export interface LiveTextEvents {
  /** The text so far, before the piece that is being spoken has its final one. */
  text(text: string): void;
  /** A piece has its final text. */
  piece(soFar: Transcript): void;
  /** An upload will be tried again. */
  retry(failure: Failure): void;
  /** No more text comes before the recording's end. */
  lost(failure: Failure): void;
}

/** The text of a recording while it goes on, and how much of it waits for its text. */
export class LiveText {
  readonly #live: LiveTranscription;
  readonly #service: AsrClientCore;
  readonly #signal: AbortSignal;
  #receivedMs = 0;
  #isBehind = false;
  #obstacle: Failure | undefined;

  constructor(service: AsrClientCore, signal: AbortSignal, events: LiveTextEvents) {
    this.#service = service;
    this.#signal = signal;
    const live = service.transcribeLive({
      signal,
      retry: {
        patienceMs: PATIENCE_MS,
        onRetry: ({ error }) => {
          this.#obstacle = asFailure(error);
          events.retry(this.#obstacle);
        },
      },
      onPartial: (text) => events.text(live.soFar.text + text),
      onStreamFailure: (error) => void this.#explain(asFailure(error)),
    });
    this.#live = live;
    this.#follow(events).catch(async (error: unknown) => {
      const failure = await this.#explain(asFailure(error));
      if (!signal.aborted) events.lost(failure);
    });
  }

  /** What is recognized by now. */
  get soFar(): Transcript {
    return this.#live.soFar;
  }

  get waitingMs(): number {
    const live = this.#live;
    return live.stopped.aborted ? this.#receivedMs - live.soFar.audio_ms : live.waitingMs;
  }

  /** Why more than a moment of audio waits; undefined where that is not so. */
  get behindBecause(): Failure | undefined {
    const { waitingMs } = this;
    this.#isBehind = waitingMs > (this.#isBehind ? CAUGHT_UP_MS : BEHIND_FROM_MS);
    if (!this.#isBehind) return undefined;
    return this.#obstacle ?? new Failure('queued');
  }

  push(samples: Int16Array): void {
    this.#receivedMs += audioMs(BYTES_PER_SAMPLE * samples.length);
    this.#live.push(samples);
  }

  /** No audio follows. @throws what ended it before all of its text was there */
  end(): Promise<Transcript> {
    return this.#live.end();
  }

  async #follow(events: LiveTextEvents): Promise<void> {
    for await (const _ of this.#live) events.piece(this.soFar);
  }

  /** A handshake fails alike if it is refused and if nobody is there. If nobody is there, nothing else is answered either. */
  async #explain(failure: Failure): Promise<Failure> {
    this.#obstacle = failure;
    if (failure.kind === 'stream_refused')
      this.#obstacle = await readiness(this.#service, this.#signal).then(() => failure, asFailure);
    return this.#obstacle;
  }
}
