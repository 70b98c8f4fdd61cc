import { isAtWork, type Now } from '../../recording/now.ts';
import type { Language } from '../../texts/language.ts';
import { clock, MAX_MINUTES, type TimerMode } from '../../texts/texts.ts';
import { find, worded } from '../elements.ts';
import { announce } from '../notice.ts';

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
  /** Undefined while it shows how long the page has waited. */
  #secondsLeft: number | undefined;

  constructor(language: Language) {
    this.#language = language;
    this.#units = [0, 1].map(() => worded('span', { class: 'unit' }, language, () => ''));
    this.#number.before(...this.#units.slice(0, 1));
    this.#number.after(...this.#units.slice(1));
  }

  show(now: Now): void {
    if (!isAtWork(now)) {
      clearInterval(this.#ticking);
      this.#ticking = undefined;
      this.#left(Math.ceil((MAX_RECORDING_MS - now.sound.lengthMs) / 1_000));
    } else if (this.#ticking === undefined) this.#wait();
  }

  #wait(): void {
    this.#secondsLeft = undefined;
    this.#say('waited');
    const startedAtMs = performance.now();
    const tick = (): void => {
      this.#number.textContent = clock(performance.now() - startedAtMs);
    };
    this.#ticking = setInterval(tick, 1_000);
    tick();
  }

  #left(seconds: number): void {
    if (this.#secondsLeft === seconds) return;
    this.#secondsLeft = seconds;
    this.#say('left');
    this.#number.textContent = clock(1_000 * seconds);
    if (WARN_AT_SECONDS.includes(seconds)) announce(this.#language.texts.left(seconds));
  }

  #say(mode: TimerMode): void {
    for (const [n, unit] of this.#units.entries())
      this.#language.say(unit, ({ timer }) => timer[mode][n] ?? '');
  }
}
