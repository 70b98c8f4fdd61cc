import { type AudioPiece, PauseCutter } from '../audio/pause-cutter.ts';
import type { Transcript, TranscriptPiece } from '../protocol/transcript.ts';
import type { TranscriptionResult } from '../protocol/wire.ts';
import { TranscriptLog } from './transcript-log.ts';

/** Recognizes up to 15 s. Its retries and manners are its own. */
export type Recognize = (samples: Int16Array) => Promise<TranscriptionResult>;

/**
 * A recording of any length on its way through the service, a piece at a time. Iterating gives the pieces as
 * they are recognized, and throws the failure behind them. `result` gives the whole at the end, or rejects with
 * an AsrError that carries what was recognized before; after an abort, with the signal's reason.
 */
export class LongTranscription implements AsyncIterable<TranscriptPiece> {
  readonly result: Promise<Transcript>;
  readonly #log = new TranscriptLog();

  /** @param audio 16 kHz mono, in blocks that are read when they are needed */
  constructor(audio: AsyncIterable<Int16Array>, recognize: Recognize, signal?: AbortSignal) {
    this.result = this.#log.whole(this.#run(audio, recognize, signal), signal);
  }

  /** What is recognized by now. */
  get soFar(): Transcript {
    return this.#log.soFar;
  }

  [Symbol.asyncIterator](): AsyncGenerator<TranscriptPiece, void, void> {
    return this.#log.read();
  }

  async #run(
    audio: AsyncIterable<Int16Array>,
    recognize: Recognize,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const cutter = new PauseCutter();
    const all = async (pieces: readonly AudioPiece[]): Promise<void> => {
      for (const piece of pieces) {
        const { text, inference_ms } = await recognize(piece.samples);
        this.#log.add(piece, text, inference_ms);
      }
    };
    for await (const block of audio) {
      signal?.throwIfAborted();
      await all(cutter.push(block));
    }
    await all(cutter.flush());
  }
}
