/** The words that stand in index.html, in English: each element with `data-text="key"`. */
export type Label =
  | 'title'
  | 'tokenLabel'
  | 'tokenHint'
  | 'tokenRemember'
  | 'tokenUse'
  | 'tokenShow'
  | 'tokenChange'
  | 'chooseFile'
  | 'microphone'
  | 'recordings'
  | 'recordingsHint'
  | 'limits'
  | 'dropHere'
  | 'documentation'
  | 'reference'
  | 'notStored';

/** Everything that can go wrong for the person at the page; each has its words in every language. */
export type FailureKind =
  | 'microphone_refused'
  | 'microphone_missing'
  | 'microphone_in_use'
  | 'microphone_silent'
  | 'microphone_lost'
  | 'recording_limit'
  | 'waiting_limit'
  | 'page_not_secure'
  | 'browser_too_old'
  | 'too_short'
  | 'token_missing'
  | 'unauthorized'
  | 'forbidden'
  | 'busy'
  | 'not_ready'
  | 'overloaded'
  | 'queued'
  | 'connection_lost'
  | 'stream_refused'
  | 'timeout'
  | 'inference_failed'
  | 'cancelled'
  | 'file_unreadable'
  | 'file_damaged'
  | 'file_cut_off'
  | 'file_too_long'
  | 'file_too_long_to_decode'
  | 'file_too_large'
  | 'file_empty'
  | 'unexpected';

/** What the page is doing. `waiting` is for a service that is busy or away. */
export type DictationState = 'idle' | 'opening' | 'recording' | 'recognizing' | 'waiting';

/** What is known of the service. `busy` is somebody else's recording; the last two are this page's own. */
export type StatusWord =
  | 'no_token'
  | 'checking'
  | 'ready'
  | 'busy'
  | 'loading'
  | 'unavailable'
  | 'unreachable'
  | 'recording'
  | 'recognizing';

/** What the time beside the record button means. */
export type TimerMode = 'left' | 'waited';

/** A result's figures, by their names in the interface. */
export type Measure = 'audio_ms' | 'finalize_ms' | 'inference_ms';

/** What happened, and what the person can do about it. */
export type Advice = readonly [what: string, todo: string];

/** What is known of a file that is not taken. */
export interface FileFacts {
  readonly lengthMs?: number;
  readonly bytes?: number;
  /** What the file is, by its first bytes; in English, as the service names it. */
  readonly format?: string | undefined;
}

/** The most that the page takes: of a recording and of a WAV, and of files that the browser has to decode. */
export const MAX_MINUTES = 60;
export const MAX_DECODED_MINUTES = 20;
export const MAX_DECODED_MB = 100;
export const MAX_FILES = 20;
/** Of a recording that goes on, so much may wait for the service. */
export { MAX_WAITING_MINUTES } from '../../client/long/live-options.ts';
/** Of the recordings in the tab, so much of their sound is kept. */
export const KEPT_SOUND_HOURS = 3;

/** For somebody who has to cut it: never less than it is. */
export const minutesUp = (ms: number): number => Math.ceil(ms / 60_000);
/** A duration in whole seconds, as 0:12 or 60:00. */
export const clock = (ms: number): string => {
  const seconds = Math.floor(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
};
export const megabytesUp = (bytes: number): number => Math.ceil(bytes / 1_000_000);

export interface Texts {
  /** BCP 47 tag for the document. */
  readonly lang: string;
  /** The one to switch to: its tag, and its name in its own words. */
  readonly otherLanguage: readonly [lang: string, name: string];
  /** What replaces the words of index.html. Undefined if its own are right. */
  readonly labels: Readonly<Record<Label, string>> | undefined;
  /** Of a file, by its name. */
  readonly failures: Readonly<Record<FailureKind, Advice | ((name: string, file: FileFacts) => Advice)>>;
  /** Names a recording that has no file's name. */
  readonly thisRecording: string;
  /** Stands between two sentences. */
  readonly sentenceGap: string;
  /** Says what happened to the file of this name. */
  ofFile(name: string, what: string): string;
  readonly placeholder: string;
  readonly status: Readonly<Record<StatusWord, string>>;
  /** The line below the title. @param id `bundled`, a catalogue's id or a folder's name */
  model(id: string, family: string | undefined): string;
  readonly measures: Readonly<Record<Measure, string>>;
  /** The record button's name in each state, and the hint below if that says more. */
  readonly button: Readonly<Record<DictationState, readonly [name: string, hint?: string]>>;
  readonly copy: string;
  readonly copyAll: string;
  /** Follows the hint how to start, if there is a keyboard. */
  readonly spaceHint: string;
  readonly level: string;
  readonly listening: string;
  readonly nothingHeard: string;
  readonly nothingInFile: string;
  /** Stands in for the text of a recording whose token was refused: that is told at the token's field. */
  readonly notRecognized: string;
  readonly copied: string;
  readonly play: string;
  readonly pause: string;
  readonly save: string;
  readonly saveText: string;
  readonly saveSubtitles: string;
  readonly textFileName: string;
  readonly remove: string;
  removed(name: string): string;
  readonly undo: string;
  readonly tryAgain: string;
  readonly cancel: string;
  readonly stopAll: string;
  readonly microphone: string;
  readonly systemMicrophone: string;
  readonly keepSpeaking: string;
  readonly notNow: string;
  readonly tooManyFiles: string;
  /** What is being recognized, or waits for that: one recording, or a file's place among several. */
  recognizing(name: string, number: number, count: number): string;
  /** So much of a long recording has its text. */
  recognized(recognizedMs: number, lengthMs: number): string;
  /** While somebody records: so much of it has no text yet. */
  audioWaits(ms: number): string;
  /** What stands around the time beside the record button. */
  readonly timer: Readonly<Record<TimerMode, readonly [before: string, after: string]>>;
  /** For listeners: so many seconds are left. */
  left(seconds: number): string;
  readonly triesAgain: string;
  /** A duration: below a minute in seconds, with one decimal. */
  seconds(ms: number): string;
  readonly result: string;
  /** In place of the text, which would take a listener minutes. */
  readonly longResult: string;
}

/** The names of those texts that are words as they stand. */
export type Word = { [Key in keyof Texts]: Texts[Key] extends string ? Key : never }[keyof Texts];
