/** The words that stand in index.html, in English: each element with `data-text="key"`. */
export type Label =
  | 'title'
  | 'tokenLabel'
  | 'tokenHint'
  | 'tokenRemember'
  | 'tokenUse'
  | 'tokenShow'
  | 'tokenChange'
  | 'left'
  | 'chooseFile'
  | 'microphone'
  | 'recordings'
  | 'recordingsHint'
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
  | 'page_not_secure'
  | 'browser_too_old'
  | 'too_short'
  | 'token_missing'
  | 'unauthorized'
  | 'forbidden'
  | 'busy'
  | 'not_ready'
  | 'overloaded'
  | 'connection_lost'
  | 'stream_refused'
  | 'timeout'
  | 'inference_failed'
  | 'cancelled'
  | 'file_unreadable'
  | 'file_cut_off'
  | 'file_too_long'
  | 'file_empty'
  | 'unexpected';

/** What the page is doing. */
export type DictationState = 'idle' | 'opening' | 'recording' | 'recognizing';

/** What is known of the service. */
export type Status = 'no_token' | 'checking' | 'ready' | 'busy' | 'loading' | 'unavailable' | 'unreachable';

/** A result's figures, by their names in the interface. */
export type Measure = 'audio_ms' | 'finalize_ms' | 'inference_ms';

/** What happened, and what the person can do about it. */
type Advice = readonly [what: string, todo: string];

export interface Texts {
  /** BCP 47 tag for the document. */
  readonly lang: string;
  /** The one to switch to: its tag, and its name in its own words. */
  readonly otherLanguage: readonly [lang: string, name: string];
  /** What replaces the words of index.html. Undefined if its own are right. */
  readonly labels: Readonly<Record<Label, string>> | undefined;
  readonly failures: Readonly<Record<FailureKind, Advice>>;
  readonly placeholder: string;
  readonly status: Readonly<Record<Status, string>>;
  readonly model: string;
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
  /** Stands in for the text of a recording that failed. The reason is told once, when it fails. */
  readonly notRecognized: string;
  readonly copied: string;
  readonly play: string;
  readonly pause: string;
  readonly save: string;
  readonly saveText: string;
  readonly remove: string;
  readonly tryAgain: string;
  readonly cancel: string;
  readonly microphone: string;
  readonly systemMicrophone: string;
  readonly keepSpeaking: string;
  readonly notNow: string;
  readonly limitReached: string;
  /** For listeners: so many seconds are left. */
  left(seconds: number): string;
  readonly triesAgain: string;
  /** A duration: in seconds, with one decimal. */
  seconds(ms: number): string;
  readonly result: string;
}

/** The names of those texts that are words as they stand. */
export type Word = { [Key in keyof Texts]: Texts[Key] extends string ? Key : never }[keyof Texts];
