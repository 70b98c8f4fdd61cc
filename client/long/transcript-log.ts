import { audioMs, BYTES_PER_SAMPLE, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { tenths } from '../../common/time/tenths.ts';
import type { AudioPiece } from '../audio/pause-cutter.ts';
import { AsrError } from '../protocol/errors.ts';
import type { Transcript, TranscriptPiece } from '../protocol/transcript.ts';
import { unlessAborted } from '../protocol/waiting.ts';
import { Unread } from '../stream/unread.ts';

const SAMPLES_PER_MS = SAMPLE_RATE_HZ / 1000;

/** The pieces of one recording, in their order, and whoever reads them as they come. */
export class TranscriptLog {
  readonly #unread = new Unread<TranscriptPiece>();
  readonly #pieces: TranscriptPiece[] = [];
  #samples = 0;
  #inferenceMs = 0;

  add(piece: AudioPiece, text: string, inferenceMs = 0): void {
    const start_ms = Math.round(piece.speechStartSample / SAMPLES_PER_MS);
    const end_ms = Math.round(piece.speechEndSample / SAMPLES_PER_MS);
    const added = { text, start_ms, end_ms };
    this.#samples += piece.samples.length;
    this.#inferenceMs += inferenceMs;
    this.#pieces.push(added);
    this.#unread.push(added);
  }

  get soFar(): Transcript {
    return {
      text: joinedText(this.#pieces.map(({ text }) => text)),
      audio_ms: audioMs(BYTES_PER_SAMPLE * this.#samples),
      inference_ms: tenths(this.#inferenceMs),
      pieces: [...this.#pieces],
    };
  }

  read(): AsyncGenerator<TranscriptPiece, void, void> {
    return this.#unread.read();
  }

  /**
   * @param work adds all the pieces
   * @returns the whole. Whoever reads hears of a failure there, too
   * @throws AsrError with what was recognized before it; the signal's reason, and others' errors, as they are
   */
  whole(work: Promise<void>, signal: AbortSignal | undefined): Promise<Transcript> {
    const ended = work.then(() => {
      if (this.#pieces.length === 0) throw new AsrError('empty_audio', 'The recording has no audio sample');
      this.#unread.finish();
      return this.soFar;
    });
    // What is awaited may say nothing more, and an abort is not to wait for it.
    const whole = unlessAborted(ended, signal).catch((error: unknown) => {
      const failure = this.#failure(error);
      this.#unread.fail(failure);
      throw failure;
    });
    whole.catch(() => {});
    return whole;
  }

  #failure(error: unknown): unknown {
    if (!(error instanceof AsrError)) return error;
    const { code, message, status, closeCode, cause } = error;
    return new AsrError(code, message, { status, closeCode, cause, recognized: this.soFar });
  }
}

/** Chinese needs no space between two pieces; words in Latin letters do. */
export function joinedText(texts: readonly string[]): string {
  const isSplit = (before: string, text: string) => /[A-Za-z0-9]$/.test(before) && /^[A-Za-z0-9]/.test(text);
  return texts.reduce((whole, text) => `${whole}${isSplit(whole, text) ? ' ' : ''}${text}`, '');
}
