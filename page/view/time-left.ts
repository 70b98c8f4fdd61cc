import { audioMs, MAX_RECORDING_BYTES } from '../../common/audio/limits.ts';
import type { Language } from '../texts/language.ts';
import { find, worded } from './elements.ts';
import { announce } from './notice.ts';

const MAX_RECORDING_MS = audioMs(MAX_RECORDING_BYTES);
const WARN_AT_SECONDS = 5;

/** How long can still be recorded. A listener is told near the end, and at it. */
export class TimeLeft {
  readonly #language: Language;
  readonly #number = find('span#left');
  #seconds = 0;

  constructor(language: Language) {
    this.#language = language;
    const unit = (n: 0 | 1) => worded('span', { class: 'unit' }, language, ({ remaining }) => remaining[n]);
    this.#number.before(unit(0));
    this.#number.after(unit(1));
  }

  show(recordedMs: number): void {
    const leftMs = MAX_RECORDING_MS - recordedMs;
    this.#number.textContent = (leftMs / 1_000).toFixed(1);
    const seconds = Math.ceil(leftMs / 1_000);
    if (this.#seconds === seconds) return;
    this.#seconds = seconds;
    const { left, limitReached } = this.#language.texts;
    if (seconds === WARN_AT_SECONDS) announce(left(seconds));
    if (seconds === 0) announce(limitReached);
  }
}
