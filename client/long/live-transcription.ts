import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { Deferred } from '../../common/time/deferred.ts';
import { FRAME_SAMPLES } from '../audio/frames.ts';
import { type AudioPiece, PauseCutter } from '../audio/pause-cutter.ts';
import { AsrError } from '../protocol/errors.ts';
import { reasonOf } from '../protocol/http.ts';
import { busyDelayMs } from '../protocol/retry.ts';
import type { Transcript, TranscriptPiece } from '../protocol/transcript.ts';
import { delay, unlessAborted } from '../protocol/waiting.ts';
import { type LiveOptions, type LiveService, type LiveStream, MAX_WAITING_MINUTES } from './live-options.ts';
import { TranscriptLog } from './transcript-log.ts';

/**
 * Others come back 1.0 to 1.4 s after `busy`, so about every second one of them finds the slot free between two
 * sessions.
 */
const SESSION_GAP_MS = 700;
/**
 * A session may begin with so much audio. The last text of a piece takes up to 1.3 s, and the gap is not to make
 * every second piece an upload. The service has a limit of two seconds, and the stream's pace keeps it.
 */
const MAX_HEAD_START_SAMPLES = 2 * SAMPLE_RATE_HZ;
const MAX_WAITING_MS = MAX_WAITING_MINUTES * 60_000;

/** The session of the piece that is being spoken, until its text is there. */
interface LiveSession {
  readonly stream: LiveStream;
  readonly complete: Deferred<AudioPiece>;
  isComplete: boolean;
  heardSamples: number;
}

/**
 * Live audio of any length: one session after another, each ended at a pause (`PauseCutter`). Audio that comes
 * between two of them is kept. What waits longer goes as an upload, as does a piece whose session breaks: its audio
 * is kept until its text is there. Iterating gives the pieces; `result` is as `LongTranscription`'s. It also
 * rejects, with the last failure's code, when five minutes of audio wait.
 */
export class LiveTranscription implements AsyncIterable<TranscriptPiece> {
  readonly result: Promise<Transcript>;
  readonly #service: LiveService;
  readonly #options: LiveOptions;
  readonly #log = new TranscriptLog();
  readonly #stop = new AbortController();
  readonly #cutter = new PauseCutter({ live: true });
  /** Complete, and without their text. */
  readonly #pieces: AudioPiece[] = [];
  #session: LiveSession | undefined;
  #news = new Deferred<void>();
  #ended = false;
  #receivedSamples = 0;
  #recognizedSamples = 0;
  #lastFailure: AsrError | undefined;
  #sourceFailure: { readonly reason: unknown } | undefined;
  #nextSessionAtMs = 0;
  /** What had come when a session failed. Without more, another would hold the slot for nothing. */
  #failedAtSamples = 0;

  constructor(service: LiveService, options: LiveOptions = {}) {
    this.#service = service;
    this.#options = options;
    const work = unlessAborted(this.#run(), this.#stop.signal);
    this.result = this.#log.whole(work, options.signal);
    this.result.catch((failure: unknown) => this.#stop.abort(failure));
  }

  /** What is recognized by now. */
  get soFar(): Transcript {
    return this.#log.soFar;
  }

  /** How much audio has come, in milliseconds. */
  get receivedMs(): number {
    return (1000 * this.#receivedSamples) / SAMPLE_RATE_HZ;
  }

  /** How much of it waits for the service, in milliseconds. */
  get waitingMs(): number {
    const underWay = this.#recognizedSamples + (this.#session?.heardSamples ?? 0);
    return (1000 * (this.#receivedSamples - underWay)) / SAMPLE_RATE_HZ;
  }

  /** Aborted when it takes no more audio, because it has failed. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Takes the next samples (16 kHz, mono) and copies them. After the end or a failure it does nothing. */
  push(samples: Int16Array): void {
    if (this.#ended || this.#stop.signal.aborted) return;
    for (let from = 0; from < samples.length; from += FRAME_SAMPLES)
      this.#take(samples.subarray(from, from + FRAME_SAMPLES));
    if (this.waitingMs > MAX_WAITING_MS) {
      const { code = 'overloaded', message = 'it is too slow' } = this.#lastFailure ?? {};
      const waiting = `${MAX_WAITING_MINUTES} minutes of audio wait for the service, more are not kept`;
      this.#stop.abort(new AsrError(code, `${waiting}: ${message}`));
    }
    this.#tell();
  }

  /** No audio follows. @returns `result` */
  end(): Promise<Transcript> {
    if (!this.#ended) {
      this.#ended = true;
      this.#complete(this.#cutter.flush());
      this.#tell();
    }
    return this.result;
  }

  /** The source has failed. `result` rejects with this reason, once what came is recognized. */
  fail(reason: unknown): void {
    this.#sourceFailure ??= { reason };
    void this.end();
  }

  [Symbol.asyncIterator](): AsyncGenerator<TranscriptPiece, void, void> {
    return this.#log.read();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = new Deferred<void>();
  }

  #take(frame: Int16Array): void {
    const frameStart = this.#receivedSamples;
    this.#receivedSamples += frame.length;
    const pieces = this.#cutter.push(frame);
    if (this.#session?.isComplete === false) {
      // It hears its piece up to the cut, which may lie behind what it has heard.
      const heard = frame.subarray(0, Math.max(0, endOf(pieces[0]) - frameStart));
      this.#session.heardSamples += heard.length;
      void this.#session.stream.send(heard);
    }
    this.#complete(pieces);
  }

  #complete(pieces: readonly AudioPiece[]): void {
    this.#pieces.push(...pieces);
    if (pieces[0] === undefined || this.#session === undefined) return;
    this.#session.isComplete = true;
    this.#session.complete.resolve(pieces[0]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      signal.throwIfAborted();
      const news = this.#news.promise;
      const [piece] = this.#pieces;
      const gapMs = this.#nextSessionAtMs - performance.now();
      if (!this.#isStreamable()) {
        if (piece !== undefined) await this.#upload(piece);
        else if (this.#ended) break;
        else await news;
      } else if (gapMs > 0) await delay(gapMs, signal);
      else await this.#stream();
    }
    if (this.#sourceFailure !== undefined) throw this.#sourceFailure.reason;
  }

  #isStreamable(): boolean {
    const waitingSamples = this.#receivedSamples - this.#recognizedSamples;
    const hasCome = this.#receivedSamples > this.#failedAtSamples && waitingSamples > 0;
    return hasCome && waitingSamples <= MAX_HEAD_START_SAMPLES;
  }

  /** Follows the piece that is being spoken, to its text. If that fails, the piece is still there. */
  async #stream(): Promise<void> {
    const { signal } = this.#stop;
    const stream = this.#service.stream({ signal });
    try {
      await stream.ready;
      // It may have taken long.
      if (!this.#isStreamable()) return;
      const [whole] = this.#pieces;
      const held = whole?.samples ?? this.#cutter.held();
      const complete = new Deferred<AudioPiece>();
      const session = { stream, complete, isComplete: whole !== undefined, heardSamples: held.length };
      if (whole !== undefined) complete.resolve(whole);
      this.#session = session;
      void stream.send(held);
      this.#showPartials(stream);
      const piece = await Promise.race([complete.promise, stream.final.then(() => undefined)]);
      // Cut at a pause that lies further back, so that it has heard words of the next piece.
      if (piece === undefined || piece.samples.length !== session.heardSamples) return;
      const { text } = await stream.end();
      this.#recognized(piece, text);
    } catch (error) {
      signal.throwIfAborted();
      // A transport of the page's own, and a platform without WebSocket, fail with other errors.
      const failure =
        error instanceof AsrError ? error : new AsrError('network', reasonOf(error), { cause: error });
      if (failure.code === 'unauthorized' || failure.code === 'forbidden') throw failure;
      this.#lastFailure = failure;
      this.#failedAtSamples = this.#receivedSamples;
      this.#session = undefined;
      this.#options.onStreamFailure?.(failure);
      // As others, who were told `busy`.
      await delay(busyDelayMs(), signal);
    } finally {
      if (this.#session !== undefined) this.#nextSessionAtMs = performance.now() + SESSION_GAP_MS;
      this.#session = undefined;
      stream.close();
    }
  }

  #showPartials(stream: LiveStream): void {
    const show = async (): Promise<void> => {
      for await (const { text } of stream) this.#options.onPartial?.(text);
    };
    // `final` tells the failure.
    show().catch(() => {});
  }

  async #upload(piece: AudioPiece): Promise<void> {
    const startedAtMs = performance.now();
    for (;;) {
      this.#stop.signal.throwIfAborted();
      try {
        const { text, inference_ms } = await this.#service.recognize(piece.samples, this.#stop.signal);
        return this.#recognized(piece, text, inference_ms);
      } catch (error) {
        const isLasting = !(error instanceof AsrError && error.retryable);
        if (isLasting || this.#options.retry?.attempts !== undefined) throw error;
        this.#lastFailure = error;
        // Somebody may still be speaking, and audio is kept for so long.
        if (performance.now() - startedAtMs > MAX_WAITING_MS) throw error;
      }
    }
  }

  #recognized(piece: AudioPiece, text: string, inferenceMs = 0): void {
    this.#pieces.shift();
    this.#lastFailure = undefined;
    this.#recognizedSamples += piece.samples.length;
    this.#log.add(piece, text, inferenceMs);
    // Before it counts as another piece's.
    if (this.#session !== undefined) this.#session.heardSamples = 0;
    this.#tell();
  }
}

const endOf = (piece: AudioPiece | undefined): number =>
  piece === undefined ? Number.POSITIVE_INFINITY : piece.startSample + piece.samples.length;
