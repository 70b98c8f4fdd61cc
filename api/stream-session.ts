import { randomBytes } from 'node:crypto';
import {
  audioMs,
  BYTES_PER_SAMPLE,
  CHUNK_MS,
  MAX_BACKLOG_BYTES,
  MAX_FRAME_BYTES,
  MAX_RECORDING_BYTES,
} from '../common/audio/limits.ts';
import { CLOSE_CODE, type StreamErrorCode, unreachable } from '../common/errors.ts';
import {
  InvalidMessage,
  parseClientMessage,
  type ServerMessage,
  type StartMessage,
} from '../common/messages/stream.ts';
import type { ResultEntry } from '../common/sessions/entries.ts';
import type { ActiveStream, StreamOpener } from './stream-opener.ts';

/**
 * One WebSocket connection, one recording.
 *
 *   connected ── start ───────────────→ opening      fields checked, token, model ready, slot, session opened
 *   opening ──── session open ────────→ ready        `ready` sent; 10 s gap timer and 40 s session timer run from here
 *   ready ────── audio ───────────────→ receiving    `partial` whenever the text changed
 *   ready, receiving ── end ──────────→ finishing    no more input; 40 s timer runs on
 *   finishing ── last result ─────────→ closed       `final`, 1000
 *
 *   any ──────── error ───────────────→ closed       `error` with its code, then the code's close code (1008 or 1011)
 *   any ──────── peer gone, shutdown ─→ closed
 *
 *   out of order, in any state: audio before `ready`, audio or anything else after `end`, a second start → invalid_sequence; text that is no
 *   control message → invalid_message; a frame that is empty, odd or over 3,200 bytes → invalid_frame; over 15 s → audio_too_long; over 2 s waiting for the
 *   model → overloaded.
 */
type State = 'connected' | 'opening' | 'ready' | 'receiving' | 'finishing' | 'closed';

const NEXT: Readonly<Record<State, readonly State[]>> = {
  connected: ['opening', 'closed'],
  opening: ['ready', 'closed'],
  ready: ['receiving', 'finishing', 'closed'],
  receiving: ['finishing', 'closed'],
  finishing: ['closed'],
  closed: [],
};

export interface StreamTimeouts {
  /** For the first message, and between messages after `ready`. */
  readonly messageMs: number;
  /** From `ready` to the end of the session. */
  readonly sessionMs: number;
}
export const STREAM_TIMEOUTS: StreamTimeouts = { messageMs: 10_000, sessionMs: 40_000 };

/** The socket as the session needs it. */
export interface StreamPeer {
  send(message: ServerMessage): void;
  close(code: number, reason: string): void;
}

/** What is logged when a session has ended; never text, audio or token. */
export interface StreamSummary {
  readonly sessionId: string;
  readonly outcome: 'final' | 'error' | 'disconnected' | 'shutdown';
  readonly code: StreamErrorCode | undefined;
  readonly audioMs: number;
  readonly partials: number;
  readonly takeovers: number;
  readonly finalizeMs: number | undefined;
  readonly sessionMs: number;
}

/** An error of the stream protocol on its way to the client. */
export class StreamFailure extends Error {
  override readonly name = 'StreamFailure';
  readonly code: StreamErrorCode;
  constructor(code: StreamErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export class StreamSession {
  readonly id = randomBytes(16).toString('hex');
  readonly #peer: StreamPeer;
  readonly #opener: StreamOpener;
  readonly #timeouts: StreamTimeouts;
  readonly #onEnd: (summary: StreamSummary) => void;
  readonly #preauthorized: boolean;
  readonly #startedAt = performance.now();
  #state: State = 'connected';
  #active: ActiveStream | undefined;
  #messageTimer: NodeJS.Timeout | undefined;
  #sessionTimer: NodeJS.Timeout | undefined;
  #receivedBytes = 0;
  #takenBytes = 0;
  #revision = 0;
  #partials = 0;
  #claims = 0;
  #endReceivedAt = 0;
  #finalizeMs: number | undefined;

  constructor(parts: {
    peer: StreamPeer;
    opener: StreamOpener;
    /** The handshake's Authorization header was right; without one, `start` must carry the token. */
    preauthorized: boolean;
    timeouts: StreamTimeouts;
    onEnd: (summary: StreamSummary) => void;
  }) {
    this.#peer = parts.peer;
    this.#opener = parts.opener;
    this.#preauthorized = parts.preauthorized;
    this.#timeouts = parts.timeouts;
    this.#onEnd = parts.onEnd;
    this.#restartMessageTimer();
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  /** Whether a recording is under way, so that a shutdown waits for it. */
  get recording(): boolean {
    return this.#state !== 'connected' && this.#state !== 'closed';
  }

  /** A text frame came in. */
  text(text: string): void {
    this.#input(() => {
      const message = parseClientMessage(text);
      switch (message.type) {
        case 'start':
          return this.#start(message);
        case 'end':
          return this.#end();
        default:
          return unreachable(message);
      }
    });
  }

  /** A binary frame came in. */
  audio(frame: Buffer): void {
    this.#input(() => {
      if (this.#state !== 'ready' && this.#state !== 'receiving') {
        const when =
          this.#state === 'finishing'
            ? 'after "end"'
            : this.#state === 'opening'
              ? 'before "ready"'
              : 'before "start"';
        throw new StreamFailure('invalid_sequence', `audio ${when}`);
      }
      if (frame.length === 0 || frame.length % BYTES_PER_SAMPLE !== 0 || frame.length > MAX_FRAME_BYTES) {
        throw new StreamFailure(
          'invalid_frame',
          `a frame of ${frame.length} bytes; send 2 to ${MAX_FRAME_BYTES} bytes, an even number`,
        );
      }
      this.#receivedBytes += frame.length;
      if (this.#receivedBytes > MAX_RECORDING_BYTES) {
        throw new StreamFailure(
          'audio_too_long',
          `over ${MAX_RECORDING_BYTES} bytes of audio (15 s) in one recording`,
        );
      }
      const waitingBytes = this.#receivedBytes - this.#takenBytes;
      if (waitingBytes > MAX_BACKLOG_BYTES) {
        throw new StreamFailure(
          'overloaded',
          `${waitingBytes} bytes of audio wait for the model, over two seconds; send in real time`,
        );
      }
      if (this.#state === 'ready') this.#to('receiving');
      this.#store(this.#active?.append(frame));
    });
  }

  /** The connection is gone. */
  disconnected(): void {
    this.#close('disconnected');
  }

  /** The process ends: an unfinished recording is not completed. */
  shutDown(): void {
    if (this.closed) return;
    this.#close('shutdown');
    this.#peer.close(1001, 'the server is shutting down');
  }

  #input(handle: () => void): void {
    if (this.closed) return;
    this.#restartMessageTimer();
    try {
      handle();
    } catch (error) {
      if (error instanceof InvalidMessage) this.fail(new StreamFailure('invalid_message', error.message));
      else if (error instanceof StreamFailure) this.fail(error);
      else throw error;
    }
  }

  #start(message: StartMessage): void {
    if (this.#state !== 'connected')
      throw new StreamFailure('invalid_sequence', 'a second "start"; each connection is one recording');
    this.#to('opening');
    clearTimeout(this.#messageTimer);
    const token = this.#preauthorized ? 'preauthorized' : { token: message.api_token };
    this.#opener
      .open(this.id, token, {
        onResult: (entry) => this.#result(entry),
        onFailure: (failure) => this.fail(failure),
      })
      .then(
        (active) => this.#opened(active),
        (error) => this.fail(error),
      );
  }

  #opened(active: ActiveStream): void {
    if (this.closed) {
      active.abort();
      return;
    }
    this.#active = active;
    this.#to('ready');
    this.#sessionTimer = setTimeout(() => {
      this.fail(new StreamFailure('timeout', `the session is over ${this.#timeouts.sessionMs / 1000} s old`));
    }, this.#timeouts.sessionMs);
    this.#restartMessageTimer();
    this.#peer.send({ type: 'ready', session_id: this.id, chunk_ms: CHUNK_MS });
  }

  #end(): void {
    if (this.#state !== 'ready' && this.#state !== 'receiving') {
      const when = this.#state === 'finishing' ? 'a second "end"' : '"end" before "ready"';
      throw new StreamFailure('invalid_sequence', when);
    }
    this.#endReceivedAt = performance.now();
    this.#to('finishing');
    clearTimeout(this.#messageTimer);
    this.#store(this.#active?.end());
  }

  #result(entry: ResultEntry): void {
    if (this.closed) return;
    switch (entry.kind) {
      case 'claimed':
        this.#claims += 1;
        return;
      case 'progress':
        this.#takenBytes = Math.max(this.#takenBytes, entry.takenBytes);
        return;
      case 'partial':
        this.#takenBytes = Math.max(this.#takenBytes, entry.takenBytes);
        // A publication that was sent twice after a lost reply is not news.
        if (entry.revision <= this.#revision) return;
        this.#revision = entry.revision;
        this.#partials += 1;
        this.#peer.send({ type: 'partial', revision: entry.revision, text: entry.text });
        return;
      case 'final':
        this.#finalizeMs = Math.round((performance.now() - this.#endReceivedAt) * 10) / 10;
        this.#peer.send({
          type: 'final',
          revision: Math.max(entry.revision, this.#revision + 1),
          text: entry.text,
          audio_ms: audioMs(this.#receivedBytes),
          finalize_ms: this.#finalizeMs,
        });
        this.#close('final');
        this.#peer.close(1000, 'final');
        return;
      case 'failed':
        this.fail(new StreamFailure('inference_failed', 'the model failed on this recording'));
        return;
      default:
        unreachable(entry);
    }
  }

  /** An append or end that could not be stored ends the session; there is nothing to wait for, so nothing is awaited. */
  #store(command: Promise<void> | undefined): void {
    command?.catch((error) => this.fail(error));
  }

  /** Ends the session with an error message and its close code. Anything but a StreamFailure is a store that does not answer. */
  fail(error: unknown): void {
    if (this.closed) return;
    const failure =
      error instanceof StreamFailure
        ? error
        : new StreamFailure('not_ready', 'the service is not ready; try again shortly');
    this.#close('error', failure.code);
    this.#peer.send({ type: 'error', code: failure.code, message: failure.message });
    this.#peer.close(CLOSE_CODE[failure.code], failure.code);
  }

  #close(outcome: StreamSummary['outcome'], code?: StreamErrorCode): void {
    if (this.closed) return;
    this.#to('closed');
    clearTimeout(this.#messageTimer);
    clearTimeout(this.#sessionTimer);
    if (outcome === 'final') this.#active?.done();
    else this.#active?.abort();
    this.#onEnd({
      sessionId: this.id,
      outcome,
      code,
      audioMs: audioMs(this.#receivedBytes),
      partials: this.#partials,
      takeovers: Math.max(0, this.#claims - 1),
      finalizeMs: this.#finalizeMs,
      sessionMs: Math.round(performance.now() - this.#startedAt),
    });
  }

  #restartMessageTimer(): void {
    clearTimeout(this.#messageTimer);
    if (this.closed) return;
    this.#messageTimer = setTimeout(() => {
      const seconds = this.#timeouts.messageMs / 1000;
      const what =
        this.#state === 'connected' ? `no "start" within ${seconds} s` : `no message for ${seconds} s`;
      this.fail(new StreamFailure('timeout', what));
    }, this.#timeouts.messageMs);
  }

  #to(next: State): void {
    if (!NEXT[this.#state].includes(next))
      throw new Error(`stream session: ${this.#state} → ${next} is no transition`);
    this.#state = next;
  }
}
