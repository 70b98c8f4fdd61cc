import type { FailureKind } from './failures.ts';

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
export interface Advice {
  readonly what: string;
  readonly todo: string;
}

export interface Texts {
  /** BCP 47 tag for the document. */
  readonly lang: string;
  /** What replaces the words of index.html; nothing where its own are right. */
  readonly labels: Readonly<Record<Label, string>> | undefined;
  readonly failures: Readonly<Record<FailureKind, Advice>>;
  readonly placeholder: string;
  readonly audioMs: string;
  readonly finalizeMs: string;
  readonly inferenceMs: string;
  readonly copy: string;
  readonly startHint: string;
  /** Follows `startHint` where there is a keyboard. */
  readonly spaceHint: string;
  readonly stopHint: string;
  readonly start: string;
  readonly opening: string;
  readonly stop: string;
  readonly recognizing: string;
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
  readonly statusReady: string;
  readonly statusLoading: string;
  readonly statusChecking: string;
  readonly statusUnreachable: string;
  readonly statusNoToken: string;
  readonly keepSpeaking: string;
  readonly limitReached: string;
  /** For listeners: so many seconds are left. */
  left(seconds: number): string;
  retryIn(seconds: number, attempt: number, attempts: number): string;
  milliseconds(ms: number): string;
  result(text: string): string;
}

/** Chinese when the browser's first language is Chinese, else English. Only the chosen language is fetched. */
export async function textsFor(languages: readonly string[]): Promise<Texts> {
  if (languages[0]?.toLowerCase().startsWith('zh')) return (await import('./texts-zh.ts')).chinese;
  return (await import('./texts-en.ts')).english;
}
