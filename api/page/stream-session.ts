import { TARGET_RATE_HZ } from '../client/audio/resampler.ts';
import { Failure, type FailureKind, failureOfCode } from './failures.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { FrameSender } from './frame-sender.ts';
import type { Pcm } from './pcm.ts';

/** The part of a WebSocket that a session uses. */
export interface StreamSocket {
  readonly bufferedAmount: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  send(data: string | Pcm): void;
  close(): void;
}

export interface FinalResult {
  readonly text: string;
  readonly audio_ms: number;
  readonly finalize_ms: number;
}

export interface SessionEvents {
  /** The full text as it stands; its end may change. */
  partial(text: string): void;
  /** Called once, unless `failed` is. */
  final(result: FinalResult): void;
  /** Called once, unless `final` is. */
  failed(failure: Failure): void;
}

/** Opening, the handshake and `start` until `ready`; the service itself answers at once. */
const READY_WITHIN_MS = 10_000;
/** From `end()` until `final`: a session lasts about 40 s at most, whatever happens. */
const FINAL_WITHIN_MS = 40_000;

type State = 'starting' | 'streaming' | 'finishing' | 'closed';

const NEXT: Readonly<Record<State, readonly State[]>> = {
  starting: ['streaming', 'closed'],
  streaming: ['finishing', 'closed'],
  finishing: ['closed'],
  closed: [],
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

/**
 * One recording over one WebSocket.
 *
 *     starting ──ready──▶ streaming ──end(), all frames sent──▶ finishing ──final──▶ closed
 *         └─────────────────────┴── error, close or too long a wait ──────┴────────▶ closed (failed)
 *
 * Frames pushed while starting are held and follow `ready` in order; an `end()` then waits for them too.
 */
export class StreamSession {
  readonly #socket: StreamSocket;
  readonly #events: SessionEvents;
  readonly #held: Pcm[] = [];
  readonly #sender: FrameSender;
  #state: State = 'starting';
  #endAsked = false;
  #revision = -1;
  #timer: ReturnType<typeof setTimeout>;

  constructor(socket: StreamSocket, token: string, events: SessionEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#sender = new FrameSender(socket);
    // A browser does not tell a page why a handshake failed: an origin that is not allowed, a proxy that passes on no WebSockets, or nobody there.
    let unanswered: FailureKind = 'stream_refused';
    socket.onopen = () => {
      unanswered = 'connection_lost';
      const format = { sample_rate: TARGET_RATE_HZ, channels: 1, encoding: 'pcm_s16le' };
      socket.send(JSON.stringify({ type: 'start', ...format, api_token: token }));
    };
    socket.onmessage = (event: { data: unknown }) => this.#received(fieldsOf(event.data));
    socket.onclose = (event: { code: number }) => {
      this.#fail(new Failure(unanswered, `close code ${event.code} before the result`));
    };
    this.#timer = this.#deadline(READY_WITHIN_MS, 'ready');
  }

  push(frame: Pcm): void {
    if (this.#state === 'starting') this.#held.push(frame);
    else if (this.#state === 'streaming') this.#sender.push(frame);
  }

  /** No frame follows. `final` or `failed` still does. */
  end(): void {
    this.#endAsked = true;
    if (this.#state !== 'streaming') return;
    // Already now: a connection that takes nothing more, and does not break, would hold the last frames back for ever.
    this.#timer = this.#deadline(FINAL_WITHIN_MS, 'final');
    this.#sender.whenEmpty(() => {
      this.#to('finishing');
      this.#socket.send(JSON.stringify({ type: 'end' }));
    });
  }

  /** Hangs up; no event follows. */
  abandon(): void {
    if (this.#state !== 'closed') this.#close();
  }

  #received(message: Fields): void {
    if (this.#state === 'closed') return;
    switch (message['type']) {
      case 'ready':
        if (this.#state !== 'starting') return;
        clearTimeout(this.#timer);
        this.#to('streaming');
        for (const frame of this.#held.splice(0)) this.#sender.push(frame);
        if (this.#endAsked) this.end();
        return;
      case 'partial': {
        // Snapshots replace each other; an older one that came late would take words back.
        const revision = number(message['revision']);
        if (revision <= this.#revision) return;
        this.#revision = revision;
        this.#events.partial(text(message['text']));
        return;
      }
      case 'final':
        this.#close();
        this.#events.final({
          text: text(message['text']),
          audio_ms: number(message['audio_ms']),
          finalize_ms: number(message['finalize_ms']),
        });
        return;
      case 'error':
        this.#fail(failureOfCode(text(message['code']), text(message['message'])));
        return;
      default:
        // A later version of the service may say more than this page knows.
        return;
    }
  }

  #to(next: State): void {
    if (!NEXT[this.#state].includes(next))
      throw new Error(`stream: ${this.#state} → ${next} is no transition`);
    this.#state = next;
  }

  #deadline(ms: number, awaited: string): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#fail(new Failure('connection_lost', `no ${awaited} within ${ms / 1000} s`));
    }, ms);
  }

  #fail(failure: Failure): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.#events.failed(failure);
  }

  #close(): void {
    this.#to('closed');
    clearTimeout(this.#timer);
    this.#sender.stop();
    this.#socket.close();
  }
}
