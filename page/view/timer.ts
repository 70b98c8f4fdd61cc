import type { Language } from '../texts/language.ts';
import { clock, type DictationState, MAX_MINUTES, type TimerMode } from '../texts/texts.ts';
import { find, worded } from './elements.ts';
import { announce } from './notice.ts';

const MAX_RECORDING_MS = MAX_MINUTES * 60_000;
/** A listener is told. */
const WARN_AT_SECONDS: readonly number[] = [300, 60, 5];

/**
 * The time beside the record button: how long can still be recorded, or for how long the page has recognized or
 * waited.
 */
export class Timer {
  readonly #language: Language;
  readonly #number = find('span#time');
  readonly #units: readonly HTMLElement[];
  #ticking: ReturnType<typeof setInterval> | undefined;
  #secondsLeft = 0;

  constructor(language: Language) {
    this.#language = language;
    this.#units = [0, 1].map(() => worded('span', { class: 'unit' }, language, () => ''));
    this.#number.before(...this.#units.slice(0, 1));
    this.#number.after(...this.#units.slice(1));
  }

  state(state: DictationState): void {
    const waits = state === 'recognizing' || state === 'waiting';
    if (waits && this.#ticking !== undefined) return;
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#say(waits ? 'waited' : 'left');
    if (!waits) return;
    const startedAtMs = performance.now();
    const tick = (): void => {
      this.#number.textContent = clock(performance.now() - startedAtMs);
    };
    this.#ticking = setInterval(tick, 1_000);
    tick();
  }

  recorded(recordedMs: number): void {
    const seconds = Math.ceil((MAX_RECORDING_MS - recordedMs) / 1_000);
    this.#number.textContent = clock(1_000 * seconds);
    if (this.#secondsLeft === seconds) return;
    this.#secondsLeft = seconds;
    if (WARN_AT_SECONDS.includes(seconds)) announce(this.#language.texts.left(seconds));
  }

  #say(mode: TimerMode): void {
    for (const [n, unit] of this.#units.entries())
      this.#language.say(unit, ({ timer }) => timer[mode][n] ?? '');
  }
}
