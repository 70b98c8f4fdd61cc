import type { Failure } from './failures.ts';
import type { Pcm } from './pcm.ts';
import type { FinalResult, SessionEvents, StreamSession } from './stream-session.ts';

/** A slot is often free again right after `busy`, when somebody else's last model call has returned. */
const BUSY_RETRIES_MS = [250, 500, 750];

/**
 * The stream side of one recording: frames go in as they are captured, partial texts come out. `busy` at the start is tried again for 1.5 s,
 * with the audio held so far, so that nothing said meanwhile is lost.
 */
export class LiveRecognition {
  /** The final result; rejects with the Failure that ended the stream. */
  readonly result: Promise<FinalResult>;
  readonly #open: (events: SessionEvents) => StreamSession;
  readonly #frames: Pcm[] = [];
  readonly #partial: (text: string) => void;
  readonly #resolve: (result: FinalResult) => void;
  readonly #reject: (failure: Failure) => void;
  #session: StreamSession | undefined;
  #retries = 0;
  #ended = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(open: (events: SessionEvents) => StreamSession, partial: (text: string) => void) {
    this.#open = open;
    this.#partial = partial;
    let resolve: (result: FinalResult) => void = () => {};
    let reject: (failure: Failure) => void = () => {};
    this.result = new Promise((onResult, onFailure) => {
      resolve = onResult;
      reject = onFailure;
    });
    this.#resolve = resolve;
    this.#reject = reject;
    this.#start();
  }

  push(frame: Pcm): void {
    this.#frames.push(frame);
    this.#session?.push(frame);
  }

  end(): void {
    this.#ended = true;
    this.#session?.end();
  }

  abandon(): void {
    clearTimeout(this.#timer);
    this.#session?.abandon();
  }

  #start(): void {
    const session = this.#open({
      partial: this.#partial,
      final: this.#resolve,
      failed: (failure) => {
        this.#session = undefined;
        const retryMs = failure.kind === 'busy' ? BUSY_RETRIES_MS[this.#retries] : undefined;
        if (retryMs === undefined) {
          this.#reject(failure);
          return;
        }
        this.#retries += 1;
        this.#timer = setTimeout(() => this.#start(), retryMs);
      },
    });
    this.#session = session;
    for (const frame of this.#frames) session.push(frame);
    if (this.#ended) session.end();
  }
}
