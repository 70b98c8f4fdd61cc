import type { Transcript } from '../../client/protocol/transcript.ts';
import type { Failure } from '../service/failures.ts';
import type { DictationState } from '../texts/texts.ts';

/** What is recognized. */
export interface Sound {
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
export interface Recording extends Sound, Outcome {}

/** The page's one state: all that it shows of what it is doing. */
export interface Now {
  readonly state: DictationState;
  /** What is recorded or recognized; of a file its name alone until it is read. */
  readonly sound: Pick<Sound, 'fileName' | 'levels' | 'lengthMs'>;
  /** The file's, among several. */
  readonly place: readonly [number: number, count: number];
  /** Its text so far. */
  readonly text: string;
  /** So much of it has its text. */
  readonly recognizedMs: number;
  /** While it waits: for what. While it is recorded: why it has fallen behind, if it has. */
  readonly obstacle: Failure | undefined;
  /** So much of a recording that goes on has no text yet. */
  readonly waitingMs: number;
}

export const IDLE: Now = {
  state: 'idle',
  sound: { fileName: undefined, levels: [], lengthMs: 0 },
  place: [1, 1],
  text: '',
  recognizedMs: 0,
  obstacle: undefined,
  waitingMs: 0,
};

/** Whether what was recorded, or a file, is on its way to its text. */
export const isAtWork = ({ state }: Now): boolean => state === 'recognizing' || state === 'waiting';
