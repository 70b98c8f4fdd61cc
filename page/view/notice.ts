import type { Now } from '../recording/now.ts';
import type { Failure } from '../service/failures.ts';
import type { Language } from '../texts/language.ts';
import { MAX_WAITING_MINUTES, type Texts } from '../texts/texts.ts';
import { adviceOn, isOfToken } from './advice.ts';
import { button, find, make, worded } from './elements.ts';

/** Speaks to a screen reader; `urgent` interrupts. */
export function announce(words: string, urgent = false, chinese = ''): void {
  find(urgent ? 'p#alert' : 'p#announcement').replaceChildren(words, make('span', { lang: 'zh' }, chinese));
}

/** A minute before the limit. */
const WARN_AT_WAITING_SECONDS = 60 * (MAX_WAITING_MINUTES - 1);

/** Says what goes wrong without a recording, or in the middle of one. What became of a recording stands with it. */
export class Notice {
  readonly #element = find('div#notice');
  readonly #language: Language;
  readonly #stop: HTMLButtonElement;
  readonly #added = make('p', { class: 'what' });
  #interruption: Failure | undefined;
  readonly #waits = make('p', {});
  #waitingSeconds = 0;

  /** @param cancel gives up waiting for a retry. */
  constructor(language: Language, cancel: () => void) {
    this.#language = language;
    this.#stop = button(language, 'cancel', cancel);
  }

  hide(): void {
    this.#element.hidden = true;
    this.#element.title = '';
    this.#element.replaceChildren();
    this.#place(false);
    // The alert's words are removed, too: a screen reader that goes on to the page's end would read them still.
    announce('', true);
  }

  /** Something new begins. */
  clear(): void {
    this.#interruption = undefined;
    this.hide();
  }

  /** What has ended the recording stands there until something new begins. */
  interrupted(by: Failure): void {
    this.#interruption = by;
    this.failed(by);
  }

  /** Nothing is waited for any more. */
  settle(): void {
    this.hide();
    const by = this.#interruption;
    if (by !== undefined)
      this.#show(
        'problem',
        by,
        this.#line((texts) => adviceOn(texts, by)[1]),
      );
  }

  failed(failure: Failure): void {
    const todo = this.#line((texts) => adviceOn(texts, failure)[1]);
    const technical = failure.kind === 'unexpected' ? [make('p', { class: 'detail' }, failure.detail)] : [];
    const what = this.#show('problem', failure, todo, ...technical);
    announce(`${what} ${todo.textContent}`, true);
  }

  show({ state, obstacle, waitingMs }: Now): void {
    if (state === 'waiting' && obstacle !== undefined) this.#waiting(obstacle);
    if (state !== 'recording') return;
    if (obstacle !== undefined) this.#keepSpeaking(obstacle, waitingMs);
    else if (this.#waits.isConnected) this.hide();
  }

  /** The recording goes on, and so much of it waits. */
  #keepSpeaking(failure: Failure, waitingMs: number): void {
    const seconds = Math.floor(waitingMs / 1_000);
    const isShown = this.#tells(failure);
    if (isShown && seconds === this.#waitingSeconds) return;
    this.#waitingSeconds = seconds;
    this.#language.say(this.#waits, ({ audioWaits }) => audioWaits(waitingMs));
    if (seconds === WARN_AT_WAITING_SECONDS) announce(this.#waits.textContent);
    if (isShown) return;
    // What else may be said to help is for later, when the recording is done.
    const forOperator =
      failure.kind === 'stream_refused' ? [this.#line((texts) => adviceOn(texts, failure)[1])] : [];
    const keepSpeaking = this.#line((texts) => texts.keepSpeaking);
    const what = this.#show('wait', failure, keepSpeaking, this.#waits, ...forOperator);
    announce(`${what} ${keepSpeaking.textContent} ${this.#waits.textContent}`);
  }

  /** The recording will be sent again, as often as it takes. */
  #waiting(failure: Failure): void {
    if (this.#tells(failure) && this.#stop.isConnected) return;
    const goesOn = this.#line(({ triesAgain }) => triesAgain);
    // The language may have been switched while the button was not there.
    this.#language.say(this.#stop, ({ cancel }) => cancel);
    const focused = document.activeElement === this.#stop;
    const by = this.#interruption;
    const ended = by === undefined ? [] : [this.#line((texts) => adviceOn(texts, by)[0])];
    const what = this.#show('wait', failure, goesOn, ...ended, this.#stop);
    if (focused) this.#stop.focus();
    announce(`${what} ${goesOn.textContent}`);
  }

  /** Adds something of no weight to what stands there. */
  add(word: 'notNow' | 'tooManyFiles'): void {
    this.#element.dataset['tone'] = 'wait';
    this.#language.say(this.#added, (texts) => texts[word]);
    this.#element.append(this.#added);
    this.#appear();
    announce(this.#language.texts[word]);
  }

  #tells({ kind }: Failure): boolean {
    return !this.#element.hidden && this.#element.dataset['kind'] === kind;
  }

  /** Returns what happened, in words. */
  #show(tone: 'problem' | 'wait', failure: Failure, ...rest: Node[]): string {
    this.hide();
    this.#element.dataset['tone'] = tone;
    this.#element.dataset['kind'] = failure.kind;
    this.#element.title = failure.detail;
    const what = worded('p', { class: 'what' }, this.#language, (texts) => adviceOn(texts, failure)[0]);
    this.#element.append(what, ...rest);
    this.#place(isOfToken(failure));
    this.#appear();
    return what.textContent;
  }

  #line(words: (texts: Texts) => string): HTMLElement {
    return worded('p', {}, this.#language, words);
  }

  /** While the notice stands at the token's field, the field names the error as its own. */
  #place(atToken: boolean): void {
    const input = find('input#token');
    if (atToken) find('p#token-hint').before(this.#element);
    else find('div#controls').before(this.#element);
    input.setAttribute('aria-invalid', String(atToken));
    input.setAttribute('aria-describedby', atToken ? 'notice token-hint' : 'token-hint');
  }

  /** In a small window, or a large zoom, its place may be out of sight. */
  #appear(): void {
    this.#element.hidden = false;
    this.#element.scrollIntoView({ block: 'nearest' });
  }
}
