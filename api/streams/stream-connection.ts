import { randomBytes } from 'node:crypto';
import { audioMs, CHUNK_MS } from '../../common/audio/limits.ts';
import { CLOSE_CODE, refusalOf, refused, ServiceFailure, unreachable } from '../../common/errors/errors.ts';
import {
  checkStart,
  parseClientMessage,
  type ServerMessage,
  startToken,
  type UncheckedStart,
} from '../../common/messages/stream.ts';
import type { ResultEntry } from '../../common/sessions/entries.ts';
import type { ActiveStream } from './active-stream.ts';
import { ReceivedAudio } from './received-audio.ts';
import { SessionFigures, type StreamSummary } from './session-figures.ts';
import { StreamClocks, type StreamTimeouts } from './stream-clocks.ts';
import type { StreamOpener } from './stream-opener.ts';

/** The socket as the connection needs it. */
interface StreamPeer {
  send(message: ServerMessage): void;
  close(code: number, reason: string): void;
}

interface StreamConnectionParts {
  readonly peer: StreamPeer;
  readonly opener: StreamOpener;
  /** The handshake's Authorization header was right; without one, `start` must carry the token. */
  readonly preauthorized: boolean;
  readonly timeouts: StreamTimeouts;
  /** Gets what the client is not told: a store that did not answer, a fault of ours. */
  readonly onFault: (error: unknown) => void;
  readonly onEnd: (summary: StreamSummary) => void;
}

/**
 * One WebSocket connection, one recording.
 *
 *   connected ── start ───────────────→ opening      fields checked, token, model ready, slot, session opened
 *   opening ──── session open ────────→ ready        `ready` sent; message clock 10 s, session clock 40 s
 *   ready ────── audio ───────────────→ receiving    `partial` whenever the text changed
 *   ready, receiving ── end ──────────→ finishing    no more input; the session clock runs on
 *   finishing ── last result ─────────→ closed       `final`, 1000
 *
 *   any ──────── error ───────────────→ closed       `error` with its code, then its close code (1008, 1011)
 *   any ──────── peer gone, shutdown, breach of the WebSocket protocol ─→ closed
 *
 *   out of order, in any state → invalid_sequence: audio or `end` before `ready`, audio or a control message
 *   after `end`, a second start
 *   text that is no control message → invalid_message
 *   a frame that is empty, odd or over 3,200 bytes → invalid_frame
 *   over 15 s → audio_too_long; over 2 s waiting for the model → overloaded
 *   If nobody works on the recording, `overloaded` and the last result's `timeout` become not_ready: the
 *   client is not to blame.
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

const FAULT = { code: 'inference_failed', message: 'a fault of the server' } as const;

export class StreamConnection {
  readonly id = randomBytes(16).toString('hex');
  readonly #parts: StreamConnectionParts;
  readonly #clocks: StreamClocks;
  readonly #audio = new ReceivedAudio();
  readonly #figures = new SessionFigures();
  #state: State = 'connected';
  #active: ActiveStream | undefined;
  #revision = 0;
  /** Set while it is checked whether anybody works on the recording. Then the session ends in any case. */
  #isFailing = false;

  constructor(parts: StreamConnectionParts) {
    this.#parts = parts;
    this.#clocks = new StreamClocks(parts.timeouts, (failure) => this.#failUnlessAbandoned(failure));
    this.#clocks.awaitMessage('"start"');
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
        const when = {
          connected: 'before "start", which goes in a text frame',
          opening: 'before "ready"',
          finishing: 'after "end"',
          closed: '',
        };
        throw new ServiceFailure('invalid_sequence', `audio ${when[this.#state]}`);
      }
      this.#audio.add(frame);
      this.#figures.audioReceived();
      if (this.#state === 'ready') this.#to('receiving');
      this.#clocks.awaitMessage('message');
      this.#stored(this.#active?.append(frame));
    });
  }

  /** The connection is gone. */
  disconnected(): void {
    this.#close('disconnected');
  }

  /**
   * What came is no WebSocket message, and the connection has been ended for it.
   * @param breach what was wrong, without what came
   */
  broken(breach: string): void {
    this.#close('error', { code: 'protocol_error', reason: breach });
  }

  /** There is no more memory for what this connection sends. */
  crowdedOut(): void {
    this.#fail(new ServiceFailure('not_ready', 'too many unfinished messages at once; try again shortly'));
  }

  /** The process ends: an unfinished recording is not completed. */
  shutDown(): void {
    if (this.#state === 'closed') return;
    this.#close('shutdown');
    this.#parts.peer.close(1001, 'the server is shutting down');
  }

  /**
   * `overloaded`, and the `timeout` of a last result, are sent only if somebody works on the recording.
   * Otherwise the client is not to blame.
   */
  #failUnlessAbandoned(error: unknown): void {
    const code = error instanceof ServiceFailure ? error.code : undefined;
    const isLate = code === 'overloaded' || (code === 'timeout' && this.#state === 'finishing');
    if (!isLate || !this.#active) {
      this.#fail(error);
      return;
    }
    this.#isFailing = true;
    this.#active.isServed().then(
      (isServed) => this.#fail(isServed ? error : refused('recognition gone')),
      (unknown) => this.#fail(unknown),
    );
  }

  /** Ends the session with an error message and its close code. */
  #fail(error: unknown): void {
    if (this.#state === 'closed') return;
    if (!(error instanceof ServiceFailure)) this.#parts.onFault(error);
    const refusal = refusalOf(error);
    const { code, message } = refusal?.isAmong(CLOSE_CODE) ? refusal : FAULT;
    this.#close('error', { code, reason: CLOSE_CODE[code] === 1011 ? message : undefined });
    this.#parts.peer.send({ type: 'error', code, message });
    this.#parts.peer.close(CLOSE_CODE[code], code);
  }

  #input(handle: () => void): void {
    if (this.#state === 'closed' || this.#isFailing) return;
    try {
      handle();
    } catch (error) {
      this.#failUnlessAbandoned(error);
    }
  }

  #start(message: UncheckedStart): void {
    if (this.#state !== 'connected') {
      throw new ServiceFailure('invalid_sequence', 'a second "start"; each connection is one recording');
    }
    checkStart(message);
    this.#figures.startReceived();
    const credential = this.#parts.preauthorized ? 'preauthorized' : { token: startToken(message) };
    this.#to('opening');
    this.#clocks.awaitNothing();
    const events = {
      onResult: (entry: ResultEntry) => this.#result(entry),
      onFailure: (failure: unknown) => this.#fail(failure),
    };
    this.#parts.opener.open(this.id, credential, events).then(
      (active) => this.#opened(active),
      (error) => this.#fail(error),
    );
  }

  #opened(active: ActiveStream): void {
    if (this.#state === 'closed') {
      active.abort();
      return;
    }
    this.#active = active;
    this.#to('ready');
    this.#clocks.sessionBegins();
    this.#clocks.awaitMessage('message');
    this.#parts.peer.send({ type: 'ready', session_id: this.id, chunk_ms: CHUNK_MS });
  }

  #end(): void {
    if (this.#state !== 'ready' && this.#state !== 'receiving') {
      const what = this.#state === 'finishing' ? 'a second "end"' : '"end" before "ready"';
      throw new ServiceFailure('invalid_sequence', what);
    }
    this.#figures.endReceived();
    this.#to('finishing');
    this.#clocks.awaitNothing();
    this.#stored(this.#active?.end());
  }

  #result(entry: ResultEntry): void {
    if (this.#state === 'closed') return;
    switch (entry.kind) {
      case 'claimed':
        this.#figures.claimed(entry.by);
        return;
      case 'progress':
        this.#audio.taken(entry.takenBytes);
        return;
      case 'partial':
        this.#audio.taken(entry.takenBytes);
        // A publication that was sent twice after a lost reply is not news.
        if (entry.revision <= this.#revision) return;
        this.#revision = entry.revision;
        this.#figures.partialSent();
        this.#parts.peer.send({ type: 'partial', revision: entry.revision, text: entry.text });
        return;
      case 'final':
        this.#final(entry.revision, entry.text);
        return;
      case 'failed':
        this.#fail(refused('model failed'));
        return;
      default:
        unreachable(entry);
    }
  }

  #final(revision: number, text: string): void {
    const finalize_ms = this.#figures.finalized();
    const audio_ms = audioMs(this.#audio.receivedBytes);
    this.#parts.peer.send({ type: 'final', revision, text, audio_ms, finalize_ms });
    this.#close('final');
    this.#parts.peer.close(1000, 'final');
  }

  /** Ends the session if something cannot be stored. Nobody waits: Redis' connection keeps the order. */
  #stored(command: Promise<void> | undefined): void {
    command?.catch((error) => this.#fail(error));
  }

  #close(outcome: StreamSummary['outcome'], { code, reason }: Partial<StreamSummary> = {}): void {
    if (this.#state === 'closed') return;
    this.#to('closed');
    this.#clocks.stop();
    if (outcome === 'final') this.#active?.done();
    else this.#active?.abort();
    const { id: sessionId } = this;
    this.#parts.onEnd(
      this.#figures.summary({
        sessionId,
        outcome,
        code,
        reason,
        audioMs: audioMs(this.#audio.receivedBytes),
      }),
    );
  }

  #to(next: State): void {
    if (!NEXT[this.#state].includes(next))
      throw new Error(`stream session: ${this.#state} → ${next} is no transition`);
    this.#state = next;
  }
}
