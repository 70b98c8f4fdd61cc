import type { Transcript } from '../../client/protocol/transcript.ts';
import type { Failure } from '../service/failures.ts';
import type { DictationState } from '../texts/texts.ts';

/** What is recognized. */
export interface Audio {
  /** 16 kHz, mono. */
  readonly wav: Blob;
  /** 0 if the file could not be read, or if its sound is no longer kept. */
  readonly lengthMs: number;
  /** Its loudness for every 100 ms. */
  readonly levels: readonly number[];
  /** The file's name; undefined for the microphone. */
  readonly fileName: string | undefined;
  readonly takenAt: Date;
}

/** What has become of it: all of its text, or the text as far as a failure, which may have come before any. */
export interface Outcome {
  readonly transcript: Transcript;
  readonly failure?: Failure | undefined;
  /** Of a recording whose text came live: from its end to its text. */
  readonly finalizeMs?: number | undefined;
}

/** One recording of this tab; the outcome is that of all attempts together. */
export interface Recording extends Audio, Outcome {}

export interface DictationView {
  state(state: DictationState): void;
  /** Loudness of every 100 ms so far, and the recording's length. */
  progress(levels: readonly number[], recordedMs: number): void;
  /** The text so far. */
  partial(text: string): void;
  /**
   * The recording goes on, and so much of it waits for the service, because of this failure; undefined: nothing
   * waits any more.
   */
  behind(failure: Failure | undefined, waitingMs: number): void;
  waiting(failure: Failure): void;
  /** What was recorded before is recognized now: the file of this number, of so many; all but its name comes once it is read. */
  recognizing(audio: Pick<Audio, 'fileName' | 'levels' | 'lengthMs'>, number: number, count: number): void;
  /** So much of it has its text by now. */
  recognized(transcript: Transcript): void;
  /** What has ended the recording, and not its person. It is recognized now. */
  interrupted(by: Failure): void;
  /** A failure without a recording: nothing to try again with. */
  failed(failure: Failure): void;
  recorded(recording: Recording): void;
}
