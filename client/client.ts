import { blocksOf } from './audio/blocks.ts';
import { type AudioInput, toPcm } from './audio/pcm.ts';
import { wavOf } from './audio/wav.ts';
import type { LiveOptions } from './long/live-options.ts';
import { feed } from './long/live-source.ts';
import { LiveTranscription } from './long/live-transcription.ts';
import { LongTranscription } from './long/long-transcription.ts';
import { request, toReadiness, toTranscription } from './protocol/http.ts';
import { type RetryOptions, withRetry } from './protocol/retry.ts';
import { BATCH_GAP_MS, Turns } from './protocol/turns.ts';
import type { ReadyResult, TranscriptionResult } from './protocol/wire.ts';
import type { Transport } from './stream/socket.ts';
import { AsrStream } from './stream/stream.ts';
import type { StreamOptions } from './stream/stream-options.ts';

export interface AsrClientOptions {
  /** The service's base address, e.g. `https://asr.example.com`. */
  readonly url: string | URL;
  readonly apiToken: string;
  /**
   * For a program that sends one recording after another: `transcribe` leaves the slot free for so long whenever it
   * has used it for 5 s, so that others get their turn. 1,500 is enough for them, and what `transcribeLong` leaves
   * between its pieces. Default 0: no gap between calls of `transcribe`.
   */
  readonly gapMs?: number | undefined;
}

export interface ReadyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for the answer. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

export interface TranscribeOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Longest wait for the answer of one attempt. Default 160,000: 60 s in a queue in front of the service, 30 s to
   * upload, 60 s in the service.
   */
  readonly timeoutMs?: number | undefined;
  /** How to go on after busy, not ready and network failures. `false`: one attempt. */
  readonly retry?: RetryOptions | false | undefined;
}

/** What both platforms share; they differ in how they connect. */
export class AsrClientCore {
  readonly #baseUrl: string;
  readonly #apiToken: string;
  readonly #transport: Transport;
  readonly #turns: Turns;
  readonly #longTurns: Turns;

  /** @throws TypeError for an address or a token that cannot be one. */
  constructor(options: AsrClientOptions, transport: Transport) {
    this.#baseUrl = checkedBaseUrl(options.url);
    this.#apiToken = checkedToken(options.apiToken);
    this.#transport = transport;
    this.#turns = new Turns(options.gapMs ?? 0);
    this.#longTurns = options.gapMs === undefined ? new Turns(BATCH_GAP_MS) : this.#turns;
  }

  /**
   * Says whether the service can recognize now. One attempt: `loading` is an answer, too.
   * @throws AsrError; the signal's reason when aborted.
   */
  async ready(options: ReadyOptions = {}): Promise<ReadyResult> {
    const { signal, timeoutMs = 10_000 } = options;
    const url = `${this.#baseUrl}/readyz`;
    return toReadiness(await request(url, { method: 'GET', apiToken: this.#apiToken, signal, timeoutMs }));
  }

  /**
   * Recognizes a whole recording of at most 15 s, converted first if it has to be.
   * @throws AsrError; the signal's reason when aborted.
   */
  async transcribe(audio: AudioInput, options: TranscribeOptions = {}): Promise<TranscriptionResult> {
    return this.#upload(await toPcm(audio), options, this.#turns);
  }

  /**
   * Recognizes a recording of any length: it is cut at its pauses, and the pieces are sent one after another, each
   * with its own attempts. Others get their turns between them. A WAV in a Blob is read in slices.
   * @param audio as for `transcribe`, or 16 kHz mono samples that are read when they are needed
   */
  transcribeLong(
    audio: AudioInput | AsyncIterable<Int16Array>,
    options: TranscribeOptions = {},
  ): LongTranscription {
    const recognize = (samples: Int16Array) => this.#upload(samples, options, this.#longTurns);
    return new LongTranscription(blocksOf(audio), recognize, options.signal);
  }

  async #upload(samples: Int16Array, options: TranscribeOptions, turns: Turns): Promise<TranscriptionResult> {
    const { signal, timeoutMs = 160_000, retry = {} } = options;
    const wav = wavOf(samples);
    const url = `${this.#baseUrl}/v1/audio/transcriptions`;
    const attempt = async (): Promise<TranscriptionResult> => {
      const body = new FormData();
      body.append('file', new Blob([wav], { type: 'audio/wav' }), 'recording.wav');
      return toTranscription(
        await request(url, { method: 'POST', apiToken: this.#apiToken, body, signal, timeoutMs }),
      );
    };
    const inTurn = () => turns.next(attempt, signal);
    return withRetry(inTurn, retry === false ? { attempts: 1 } : retry, signal);
  }

  /**
   * Recognizes live audio of any length, with the text as it is spoken. It is one session after another; audio that
   * has to wait goes as uploads, so a page needs the service's own origin.
   */
  transcribeLive(options: LiveOptions = {}): LiveTranscription {
    const { audio, retry } = options;
    const service = {
      stream: (streamOptions: StreamOptions) => this.stream(streamOptions),
      recognize: (samples: Int16Array, signal: AbortSignal) =>
        this.#upload(samples, { retry, signal }, this.#longTurns),
    };
    const live = new LiveTranscription(service, options);
    if (audio !== undefined) void feed(live, audio);
    return live;
  }

  /**
   * Opens a session for one recording. It connects once; `withRetry` around it tries again.
   * The session's promises reject; this method itself does not throw.
   */
  stream(options: StreamOptions = {}): AsrStream {
    const url = `${this.#baseUrl.replace(/^http/, 'ws')}/ws/asr`;
    return new AsrStream(url, this.#apiToken, this.#transport, options);
  }
}

function checkedBaseUrl(given: string | URL): string {
  const url = parsed(given);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new TypeError(`url ${JSON.stringify(String(given))} is not http://HOST:PORT or https://HOST`);
  // Addresses end up in logs, so nothing secret may be in one.
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new TypeError('the url may hold no user, password or query; the token is given as apiToken');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Without `URL.parse`, which is younger than browsers that are in use. */
function parsed(address: string | URL): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}

function checkedToken(token: string): string {
  // A program without types may give undefined, as from a variable that is not set.
  if (!token) throw new TypeError('apiToken is missing or empty; the service’s operator gives you one');
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('apiToken holds a space, a line break or a character that is not ASCII');
  return token;
}
