import type { Retry } from '../../client/protocol/retry.ts';
import type { StreamFinal, TranscriptionResult } from '../../client/protocol/wire.ts';
import type { Failure } from '../service/failures.ts';
import type { DictationState } from '../texts/texts.ts';

/** What is recognized. */
export interface Audio {
  /** 16 kHz, mono; empty if the file could not be read. */
  readonly samples: Int16Array;
  /** Its loudness for every 100 ms. */
  readonly levels: readonly number[];
  /** The file's name; undefined for the microphone. */
  readonly fileName: string | undefined;
  readonly takenAt: Date;
}

/** One recording of this tab; `outcome` is the latest attempt's. */
export interface Recording extends Audio {
  readonly outcome: StreamFinal | TranscriptionResult | Failure;
}

export interface DictationView {
  state(state: DictationState): void;
  /** Loudness of every 100 ms so far, and the recording's length. */
  progress(levels: readonly number[], recordedMs: number): void;
  partial(text: string): void;
  /** The live text has ended early; the recording goes on and is recognized as a whole at its end. */
  liveTextLost(failure: Failure): void;
  waiting(retry: Retry): void;
  /** No answer yet: it may be the turn of others. */
  queued(): void;
  /** That is over. */
  hasTurn(): void;
  /** What was recorded before is recognized now: the file of this number, of so many; its levels come once it is read. */
  recognizing(audio: Pick<Audio, 'fileName' | 'levels'>, number: number, count: number): void;
  /** A failure without a recording: nothing to try again with. */
  failed(failure: Failure): void;
  recorded(recording: Recording): void;
}
