import { CHANNELS, ENCODING, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { Deferred } from '../../common/time/deferred.ts';
import { AsrError } from '../protocol/errors.ts';
import {
  parseServerMessage,
  type ServerMessage,
  type StreamFinal,
  type StreamPartial,
  type StreamReady,
} from '../protocol/wire.ts';
import type { FrameSocket } from './audio-sender.ts';
import type { Socket, Transport } from './socket.ts';
import type { StreamOptions } from './stream-options.ts';
import { Unread } from './unread.ts';

/*
 *               open              ready             end sent             final
 *   connecting ──────▶ starting ──────▶ streaming ──────────▶ finishing ──────▶ finished
 *       │                 │                 │                     │
 *       │                 └─ error message ─┴─────────────────────┤
 *       │                        ▼                                │
 *       │                     refused  (waits for the close code) │
 *       │                        ▼                                │
 *       └── not connected, closed, late, aborted ──▶ failed ◀─────┘
 */
type State = 'connecting' | 'starting' | 'streaming' | 'finishing' | 'refused' | 'finished' | 'failed';

const NEXT: Readonly<Record<State, readonly State[]>> = {
  connecting: ['starting', 'failed'],
  starting: ['streaming', 'refused', 'failed'],
  streaming: ['finishing', 'refused', 'failed'],
  finishing: ['finished', 'refused', 'failed'],
  refused: ['failed'],
  finished: [],
  failed: [],
};

/** The service ends a session about 40 s after `ready`; after this time the network must be gone. */
const SESSION_MS = 45_000;
/** A refused or finished session is closed by the service; after this time the client does it. */
const CLOSE_WAIT_MS = 1_000;

/** What the service and the client say to each other over one connection, except for the audio itself. */
export class Session {
  readonly #ready = new Deferred<StreamReady>();
  readonly #final = new Deferred<StreamFinal>();
  readonly #takesAudio = new Deferred<FrameSocket>();
  readonly #stopped = new AbortController();

  readonly ready = this.#ready.promise;
  readonly partials = new Unread<StreamPartial>();
  readonly final = this.#final.promise;
  /** Where the audio goes, from `ready` on. */
  readonly takesAudio = this.#takesAudio.promise;
  /** Aborted when no more audio may be sent: the service has refused the session, or it has failed. */
  readonly stopped: AbortSignal = this.#stopped.signal;

  readonly #options: StreamOptions;
  #socket: Socket | undefined;
  #state: State = 'connecting';
  #refusal: AsrError | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param options whose signal, when it is or becomes aborted, fails the session */
  constructor(options: StreamOptions) {
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.fail(signal.reason);
    else signal?.addEventListener('abort', this.#aborted, { once: true });
  }

  /** To be called once, and not after a failure. */
  connect(url: string, apiToken: string, transport: Transport): void {
    this.#limit(this.#options.connectTimeoutMs ?? 70_000, `no connection to ${url}`);
    const token = transport.tokenInStart ? { api_token: apiToken } : {};
    this.#socket = transport.connect(url, apiToken, {
      onOpen: () => {
        if (this.#state !== 'connecting') return;
        this.#to('starting');
        this.#limit(this.#options.readyTimeoutMs ?? 10_000, `the service at ${url} was not ready`);
        const format = { sample_rate: SAMPLE_RATE_HZ, channels: CHANNELS, encoding: ENCODING };
        this.#socket?.send(JSON.stringify({ type: 'start', ...format, ...token }));
      },
      onText: (text) => this.#receive(text),
      onClose: (code, reason) => this.#closed(code, reason),
      onFailed: (error) => this.fail(error),
    });
  }

  /** No audio follows: the final text is due. */
  end(): void {
    if (this.#state !== 'streaming') return;
    this.#to('finishing');
    this.#socket?.send('{"type":"end"}');
    this.#limit(this.#options.finalTimeoutMs ?? 60_000, 'the service sent no final text');
  }

  #receive(text: string): void {
    if (this.#state === 'refused' || this.#state === 'finished' || this.#state === 'failed') return;
    try {
      const message = parseServerMessage(text);
      if (message !== undefined) this.#handle(message);
    } catch (error) {
      this.fail(error);
    }
  }

  #handle(message: ServerMessage): void {
    switch (message.type) {
      case 'ready':
        this.#started(message);
        break;
      case 'partial':
        this.partials.push({ revision: message.revision, text: message.text });
        break;
      case 'final':
        this.#finish(message);
        break;
      case 'error':
        this.#to('refused');
        this.#refusal = new AsrError(message.code, message.message);
        // The service would take more audio for a second fault.
        this.#stopped.abort();
        this.#limitClose();
        break;
      default:
        message satisfies never;
    }
  }

  #started({ session_id, chunk_ms }: StreamReady): void {
    this.#to('streaming');
    this.#limit(SESSION_MS, 'the session did not end');
    this.#ready.resolve({ session_id, chunk_ms });
    if (this.#socket !== undefined) this.#takesAudio.resolve(this.#socket);
  }

  #finish({ revision, text, audio_ms, finalize_ms }: StreamFinal): void {
    this.#to('finished');
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#final.resolve({ revision, text, audio_ms, finalize_ms });
    this.partials.finish();
    this.#limitClose();
  }

  #closed(code: number, reason: string): void {
    clearTimeout(this.#timer);
    if (this.#refusal !== undefined) {
      this.fail(new AsrError(this.#refusal.code, this.#refusal.message, { closeCode: code }));
      return;
    }
    const how = code === 1006 ? 'broke' : `was closed (${code}${reason && `, ${reason}`})`;
    const message = `the connection ${how} before the final text; the recording is not complete`;
    this.fail(new AsrError('network', message, { closeCode: code }));
  }

  readonly #aborted = () => this.fail(this.#options.signal?.reason);

  /** Gives the session up, if it has not ended. Whatever is pending rejects with `reason`. */
  fail(reason: unknown): void {
    if (this.#state === 'finished' || this.#state === 'failed') return;
    this.#to('failed');
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#ready.reject(reason);
    this.#final.reject(reason);
    this.#takesAudio.reject(reason);
    this.#stopped.abort(reason);
    this.partials.fail(reason);
    this.#socket?.terminate();
  }

  /** @throws AsrError `unexpected_response`: only a message of the service can come where it has no place */
  #to(next: State): void {
    if (!NEXT[this.#state].includes(next))
      throw new AsrError('unexpected_response', `the service answered out of turn: ${this.#state} → ${next}`);
    this.#state = next;
  }

  #limit(durationMs: number, what: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.fail(new AsrError('no_answer', `${what} within ${durationMs / 1000} s`));
    }, durationMs);
  }

  #limitClose(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#refusal !== undefined) this.fail(this.#refusal);
      this.#socket?.terminate();
    }, CLOSE_WAIT_MS);
  }
}
