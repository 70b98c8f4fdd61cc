import { toPcm } from './audio/pcm.ts';
import { AudioSender, type FrameSink } from './audio-sender.ts';
import { AsrError } from './errors.ts';
import { Pace } from './frames.ts';
import type { Socket, Transport } from './socket.ts';
import { isPieces, type StreamOptions } from './stream-options.ts';
import { UnreadPartials } from './unread-partials.ts';
import { after, Deferred } from './waiting.ts';
import {
  parseServerMessage,
  SAMPLE_RATE_HZ,
  type ServerMessage,
  type StreamFinal,
  type StreamPartial,
  type StreamReady,
} from './wire.ts';

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

/** A refused or finished session is closed by the service; after this time the client does it. */
const CLOSE_WAIT_MS = 1_000;

/**
 * One recording over one connection. Iterating gives the partials as they come and ends when the final text is there (or throws the failure);
 * leaving the loop early does not end the session. `ready`, `final`, `send` and `end` reject with the same AsrError, or the reason of an abort.
 */
export class AsrStream implements AsyncIterable<StreamPartial> {
  readonly ready: Promise<StreamReady>;
  readonly final: Promise<StreamFinal>;

  readonly #options: StreamOptions;
  readonly #whole: boolean;
  readonly #ready = new Deferred<StreamReady>();
  readonly #final = new Deferred<StreamFinal>();
  readonly #takesAudio = new Deferred<FrameSink>();
  readonly #stopAudio = new AbortController();
  readonly #sender: AudioSender;
  readonly #partials = new UnreadPartials();
  #socket: Socket | undefined;
  #state: State = 'connecting';
  #refusal: AsrError | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ended = false;

  /** @param url of the streaming endpoint, `ws:` or `wss:` */
  constructor(url: string, apiToken: string, transport: Transport, options: StreamOptions) {
    this.#options = options;
    this.ready = this.#ready.promise;
    this.final = this.#final.promise;
    const { audio, signal } = options;
    this.#whole = audio !== undefined && !isPieces(audio);
    const pace = new Pace((options.realTime ?? this.#whole) ? 'real-time' : 'live');
    this.#sender = new AudioSender(this.#takesAudio.promise, pace, this.#stopAudio.signal);
    if (signal?.aborted) {
      this.#fail(signal.reason);
      return;
    }
    signal?.addEventListener('abort', this.#aborted, { once: true });
    this.#run(url, apiToken, transport).catch((error: unknown) => this.#fail(error));
  }

  /**
   * Sends samples (16 kHz, mono) in order, in frames of 3,200 bytes; what fills no frame waits for the next call or the end. The samples are copied.
   * Resolves when they are handed to the connection, of which at most 64,000 bytes are ever buffered: await it to follow the connection's speed.
   * @throws AsrError `audio_too_long` when the recording would pass 15 s: none of these samples is sent, and `end` is still possible;
   * `invalid_sequence` after `end`.
   */
  send(samples: Int16Array): Promise<void> {
    const sent = this.#send(samples);
    // Nobody has to wait for each piece only to hear that the session has failed, which `final` tells, or that a microphone's last pieces came
    // behind the end.
    if (this.#ended) sent.catch(() => {});
    else this.final.catch(() => sent.catch(() => {}));
    return sent;
  }

  async #send(samples: Int16Array): Promise<void> {
    if (this.#ended) throw new AsrError('invalid_sequence', 'audio after end(); open a new session');
    try {
      await this.#sender.push(samples);
    } catch (error) {
      this.#stalled(error);
      if (this.#stopAudio.signal.aborted) await this.final;
      throw error;
    }
  }

  /** Sends what is left and the end of the recording. @returns `final` */
  end(): Promise<StreamFinal> {
    // A whole recording ends by itself, behind its last sample.
    return this.#whole ? this.final : this.#end();
  }

  #end(): Promise<StreamFinal> {
    if (this.#ended) return this.final;
    this.#ended = true;
    this.#sender.flush().then(
      () => {
        if (this.#state !== 'streaming') return;
        this.#to('finishing');
        this.#socket?.send('{"type":"end"}');
        this.#limit(this.#options.finalTimeoutMs ?? 60_000, 'the service sent no final text');
      },
      (error: unknown) => this.#stalled(error),
    );
    return this.final;
  }

  /** A connection that takes nothing more ends the session; what else is wrong with a piece is for whoever sent it. */
  #stalled(error: unknown): void {
    if (error instanceof AsrError && error.code === 'no_answer') this.#fail(error);
  }

  /** Gives the recording up; what is pending rejects with an AbortError. */
  close(): void {
    this.#fail(new DOMException('the session was closed before its final text', 'AbortError'));
  }

  [Symbol.asyncIterator](): AsyncGenerator<StreamPartial, void, void> {
    return this.#partials.read();
  }

  async #run(url: string, apiToken: string, transport: Transport): Promise<void> {
    const { audio } = this.#options;
    if (audio === undefined) return this.#connect(url, apiToken, transport);
    if (isPieces(audio)) {
      this.#connect(url, apiToken, transport);
      for await (const samples of audio) {
        // The caller may end a recording before its source does, as with a button; leaving the loop tells the source.
        if (this.#ended) break;
        await this.send(samples);
      }
    } else {
      // Before connecting: a file that cannot be sent must not take the service's one slot.
      const samples = await toPcm(audio);
      if (this.#state === 'failed') return;
      this.#connect(url, apiToken, transport);
      await this.send(samples);
    }
    await this.#end();
  }

  #connect(url: string, apiToken: string, transport: Transport): void {
    this.#limit(this.#options.readyTimeoutMs ?? 10_000, `the service at ${url} was not ready`);
    const token = transport.tokenInStart ? { api_token: apiToken } : {};
    this.#socket = transport.connect(url, apiToken, {
      onOpen: () => {
        if (this.#state !== 'connecting') return;
        this.#to('starting');
        const format = { sample_rate: SAMPLE_RATE_HZ, channels: 1, encoding: 'pcm_s16le' };
        this.#socket?.send(JSON.stringify({ type: 'start', ...format, ...token }));
      },
      onText: (text) => this.#receive(text),
      onClose: (code, reason) => this.#closed(code, reason),
      onFailed: (error) => this.#fail(error),
    });
  }

  #receive(text: string): void {
    if (this.#state === 'refused' || this.#state === 'finished' || this.#state === 'failed') return;
    try {
      const message = parseServerMessage(text);
      if (message !== undefined) this.#handle(message);
    } catch (error) {
      this.#fail(error);
    }
  }

  #handle(message: ServerMessage): void {
    switch (message.type) {
      case 'ready':
        this.#started(message);
        break;
      case 'partial':
        this.#partials.push({ revision: message.revision, text: message.text });
        break;
      case 'final':
        this.#finish(message);
        break;
      case 'error':
        this.#to('refused');
        this.#refusal = new AsrError(message.code, message.message);
        // The service would take more audio for a second fault.
        this.#stopAudio.abort();
        this.#limitClose();
        break;
      default:
        message satisfies never;
    }
  }

  #started({ session_id, chunk_ms }: StreamReady): void {
    if (this.#state !== 'starting' || this.#socket === undefined)
      throw new AsrError('unexpected_response', 'the service sent ready twice');
    this.#to('streaming');
    clearTimeout(this.#timer);
    this.#ready.resolve({ session_id, chunk_ms });
    this.#takesAudio.resolve(this.#socket);
  }

  #finish({ revision, text, audio_ms, finalize_ms }: StreamFinal): void {
    if (this.#state !== 'finishing')
      throw new AsrError('unexpected_response', 'the service sent a final text before the end of the audio');
    this.#to('finished');
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#final.resolve({ revision, text, audio_ms, finalize_ms });
    this.#partials.finish();
    this.#limitClose();
  }

  #closed(code: number, reason: string): void {
    clearTimeout(this.#timer);
    if (this.#refusal !== undefined) {
      this.#fail(new AsrError(this.#refusal.code, this.#refusal.message, { closeCode: code }));
      return;
    }
    const how = code === 1006 ? 'broke' : `was closed (${code}${reason && `, ${reason}`})`;
    const message = `the connection ${how} before the final text; the recording is not complete`;
    this.#fail(new AsrError('network', message, { closeCode: code }));
  }

  readonly #aborted = () => this.#fail(this.#options.signal?.reason);

  #fail(reason: unknown): void {
    if (this.#state === 'finished' || this.#state === 'failed') return;
    this.#to('failed');
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#ready.reject(reason);
    this.#final.reject(reason);
    this.#takesAudio.reject(reason);
    this.#stopAudio.abort(reason);
    this.#partials.fail(reason);
    this.#socket?.terminate();
  }

  #to(next: State): void {
    if (!NEXT[this.#state].includes(next))
      throw new Error(`stream: ${this.#state} → ${next} is no transition`);
    this.#state = next;
  }

  #limit(durationMs: number, what: string): void {
    this.#timer = after(durationMs, () => {
      this.#fail(new AsrError('no_answer', `${what} within ${durationMs / 1000} s`));
    });
  }

  #limitClose(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#refusal !== undefined) this.#fail(this.#refusal);
      this.#socket?.terminate();
    }, CLOSE_WAIT_MS);
  }
}
