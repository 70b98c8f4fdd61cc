import type { Waiting } from './backoff.ts';
import { button, find, make } from './elements.ts';
import type { Failure } from './failures.ts';
import { texts } from './words.ts';

/** Speaks to a screen reader; `urgent` interrupts. */
export function announce(words: string, urgent = false): void {
  find(urgent ? 'alert' : 'announcement', HTMLParagraphElement).textContent = words;
}

/** The one place that says what went wrong and what to do. */
export class Notice {
  readonly #element = find('notice', HTMLDivElement);
  readonly #stop: HTMLButtonElement;
  #ticking: ReturnType<typeof setInterval> | undefined;

  /** @param cancel gives up waiting for a retry. */
  constructor(cancel: () => void) {
    this.#stop = button(texts.cancel, cancel);
  }

  hide(): void {
    clearInterval(this.#ticking);
    this.#element.hidden = true;
    this.#element.replaceChildren();
  }

  failed(failure: Failure): void {
    const [what, todo] = texts.failures[failure.kind];
    const technical = failure.kind === 'unexpected' ? [make('p', { class: 'detail' }, failure.detail)] : [];
    this.#show('problem', failure, what, make('p', {}, todo), ...technical);
    announce(`${what} ${todo}`, true);
  }

  /** The recording goes on, without live text. */
  keepSpeaking(failure: Failure): void {
    const [what] = texts.failures[failure.kind];
    this.#show('wait', failure, what, make('p', {}, texts.keepSpeaking));
    announce(`${what} ${texts.keepSpeaking}`);
  }

  waiting({ failure, delayMs, attempt, attempts }: Waiting): void {
    const [what] = texts.failures[failure.kind];
    const until = performance.now() + delayMs;
    const countdown = make('p', {});
    const tick = (): void => {
      const seconds = Math.max(0, Math.ceil((until - performance.now()) / 1000));
      countdown.textContent = texts.retryIn(seconds, attempt, attempts);
    };
    const focused = document.activeElement === this.#stop;
    this.#show('wait', failure, what, countdown, this.#stop);
    if (focused) this.#stop.focus();
    tick();
    this.#ticking = setInterval(tick, 250);
    if (attempt === 1) announce(`${what} ${countdown.textContent}`);
  }

  #show(tone: 'problem' | 'wait', failure: Failure, what: string, ...rest: Node[]): void {
    this.hide();
    this.#element.dataset['tone'] = tone;
    this.#element.dataset['kind'] = failure.kind;
    this.#element.title = failure.detail;
    this.#element.append(make('p', { class: 'what' }, what), ...rest);
    this.#element.hidden = false;
  }
}
