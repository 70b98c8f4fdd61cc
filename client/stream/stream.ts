import { toPcm } from '../audio/pcm.ts';
import { AsrError } from '../protocol/errors.ts';
import type { StreamFinal, StreamPartial, StreamReady } from '../protocol/wire.ts';
import { AudioSender } from './audio-sender.ts';
import { Pace } from './pace.ts';
import { Session } from './session.ts';
import type { Transport } from './socket.ts';
import { isPieces, type StreamOptions } from './stream-options.ts';

/**
 * One recording over one connection. Iterating gives the partials as they come. It ends with the final text,
 * or throws the failure; leaving it early does not end the session. `ready`, `final`, `send` and `end` reject
 * with the same AsrError, or the reason of an abort.
 */
export class AsrStream implements AsyncIterable<StreamPartial> {
  readonly ready: Promise<StreamReady>;
  readonly final: Promise<StreamFinal>;

  readonly #audio: StreamOptions['audio'];
  readonly #whole: boolean;
  readonly #session: Session;
  readonly #sender: AudioSender;
  #ended = false;

  /** @param url of the streaming endpoint, `ws:` or `wss:` */
  constructor(url: string, apiToken: string, transport: Transport, options: StreamOptions) {
    const { audio, realTime } = options;
    this.#session = new Session(options);
    this.ready = this.#session.ready;
    this.final = this.#session.final;
    this.#audio = audio;
    this.#whole = audio !== undefined && !isPieces(audio);
    const pace = new Pace((realTime ?? this.#whole) ? 'real-time' : 'live');
    this.#sender = new AudioSender(this.#session.takesAudio, pace, this.#session.stopped);
    if (this.#session.stopped.aborted) return;
    this.#run(url, apiToken, transport).catch((error: unknown) => this.#session.fail(error));
  }

  /**
   * Sends a copy of these samples (16 kHz, mono), in frames of 3,200 bytes. What fills no frame waits for the
   * next call or the end. Await it to follow the connection's speed: it resolves when they are handed to the
   * connection, which never buffers more than 64,000 bytes.
   * @throws AsrError `audio_too_long` when the recording would pass 15 s: none of these samples is sent, and
   * `end` is still possible; `invalid_sequence` after `end`.
   */
  send(samples: Int16Array): Promise<void> {
    const sent = this.#send(samples);
    // Nobody has to await a piece: `final` tells a failure, and a microphone's last ones may come too late.
    if (this.#ended) sent.catch(() => {});
    else this.final.catch(() => sent.catch(() => {}));
    return sent;
  }

  async #send(samples: Int16Array): Promise<void> {
    if (this.#ended) throw new AsrError('invalid_sequence', 'audio after end(); open a new session');
    try {
      await this.#sender.push(samples);
    } catch (error) {
      if (this.#session.stopped.aborted) await this.final;
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
    // What stops the sender has failed the session, and `final` tells it.
    this.#sender.flush().then(
      () => this.#session.end(),
      () => {},
    );
    return this.final;
  }

  /** Gives the recording up. Whatever is pending rejects with an AbortError. */
  close(): void {
    this.#session.fail(new DOMException('the session was closed before its final text', 'AbortError'));
  }

  [Symbol.asyncIterator](): AsyncGenerator<StreamPartial, void, void> {
    return this.#session.partials.read();
  }

  async #run(url: string, apiToken: string, transport: Transport): Promise<void> {
    const audio = this.#audio;
    if (audio === undefined) return this.#session.connect(url, apiToken, transport);
    if (isPieces(audio)) {
      this.#session.connect(url, apiToken, transport);
      for await (const samples of audio) {
        // The caller may end before the source does, as with a button. Leaving the loop tells the source.
        if (this.#ended) break;
        await this.send(samples);
      }
    } else {
      // Before connecting: a file that cannot be sent must not take the service's one slot.
      const samples = await toPcm(audio);
      if (this.#session.stopped.aborted) return;
      this.#session.connect(url, apiToken, transport);
      await this.send(samples);
    }
    await this.#end();
  }
}
