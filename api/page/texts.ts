import type { DictationState } from './dictation.ts';
import type { FailureKind } from './failures.ts';
import type { Measure } from './measures.ts';
import type { Status } from './service-status.ts';

/** The words that stand in index.html, in English: each element with `data-text="key"`. */
export type Label =
  | 'title'
  | 'tokenLabel'
  | 'tokenHint'
  | 'tokenUse'
  | 'tokenShow'
  | 'tokenChange'
  | 'secondsLeft'
  | 'chooseFile'
  | 'recordings'
  | 'recordingsHint'
  | 'dropHere'
  | 'documentation'
  | 'reference'
  | 'notStored';

/** What happened, and what the person can do about it. */
type Advice = readonly [what: string, todo: string];

export interface Texts {
  /** BCP 47 tag for the document. */
  readonly lang: string;
  /** What replaces the words of index.html; nothing where its own are right. */
  readonly labels: Readonly<Record<Label, string>> | undefined;
  readonly failures: Readonly<Record<FailureKind, Advice>>;
  readonly placeholder: string;
  readonly status: Readonly<Record<Status, string>>;
  readonly model: string;
  /** The results' figures by their names in the interface. */
  readonly measures: Readonly<Record<Measure, string>>;
  /** The record button's name in each state, and the hint below where it says more. */
  readonly button: Readonly<Record<DictationState, readonly [name: string, hint?: string]>>;
  readonly copy: string;
  /** Follows the hint how to start, where there is a keyboard. */
  readonly spaceHint: string;
  readonly level: string;
  readonly listening: string;
  readonly nothingHeard: string;
  readonly copied: string;
  readonly play: string;
  readonly pause: string;
  readonly save: string;
  readonly tryAgain: string;
  readonly cancel: string;
  readonly microphone: string;
  readonly keepSpeaking: string;
  readonly notNow: string;
  readonly limitReached: string;
  /** For listeners: so many seconds are left. */
  left(seconds: number): string;
  retryIn(seconds: number, attempt: number, attempts: number): string;
  milliseconds(ms: number): string;
  readonly result: string;
}

/** Chinese when the browser's first language is Chinese, else English. Only the chosen language is fetched. */
export async function textsFor(languages: readonly string[]): Promise<Texts> {
  if (languages[0]?.toLowerCase().startsWith('zh')) return (await import('./texts-zh.ts')).chinese;
  return (await import('./texts-en.ts')).english;
}
