import { isAtWork, type Now } from '../recording/now.ts';
import type { Language } from '../texts/language.ts';
import type { DictationState } from '../texts/texts.ts';
import { find } from '../view/elements.ts';
import { type Pressable, PressGesture } from './press-gesture.ts';

/** The big button, and the space bar anywhere on the page where it has no other meaning. */
export class RecordButton {
  readonly #button = find('button#record');
  readonly #hint = find('p#hint');
  readonly #language: Language;
  #shown: DictationState | undefined;

  constructor(language: Language, target: Pressable) {
    this.#language = language;
    const gesture = new PressGesture(target);
    this.#onPointer(gesture);
    this.#onSpaceBar(gesture);
  }

  show(now: Now): void {
    const { state, sound } = now;
    this.#loudness(state === 'recording' ? (sound.levels.at(-1) ?? 0) : 0);
    if (state === this.#shown) return;
    this.#shown = state;
    // A device on which a pointer can hover is taken to have a space bar.
    const hasKeyboard = state === 'idle' && matchMedia('(any-hover: hover)').matches;
    const button = this.#button;
    button.dataset['state'] = state;
    button.setAttribute('aria-disabled', String(isAtWork(now)));
    button.setAttribute('aria-busy', String(state === 'opening' || isAtWork(now)));
    this.#language.show(button, (texts) => button.setAttribute('aria-label', texts.button[state][0]));
    this.#language.say(this.#hint, (texts) => {
      const [name, hint = name] = texts.button[state];
      return hasKeyboard ? hint + texts.spaceHint : hint;
    });
  }

  /** @param level 0 to 1 */
  #loudness(level: number): void {
    this.#button.style.setProperty('--level', level.toFixed(2));
    find('meter#level').value = Math.round(level * 100);
  }

  #onPointer(gesture: PressGesture): void {
    let releasedAtMs = -Infinity;
    this.#button.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.#button.setPointerCapture(event.pointerId);
      gesture.down(event.timeStamp);
    });
    for (const type of ['pointerup', 'pointercancel'] as const) {
      this.#button.addEventListener(type, (event) => {
        gesture.up(event.timeStamp);
        releasedAtMs = event.timeStamp;
      });
    }
    // A pointer's own click follows at once, or not at all: not after a touch that was cancelled or has moved.
    this.#button.addEventListener('click', (event) => {
      if (event.timeStamp - releasedAtMs > 400) gesture.tap();
    });
    // A long press on a touch screen would open a menu instead of recording.
    this.#button.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  #onSpaceBar(gesture: PressGesture): void {
    // False prevents the default: a held Enter would press the button again and again. A held Tab goes on.
    this.#button.onkeydown = (event) => !event.repeat || event.key !== 'Enter';
    let down = false;
    document.addEventListener('keydown', (event) => {
      if (event.code !== 'Space' || event.ctrlKey || event.altKey || event.metaKey) return;
      const other =
        event.target instanceof Element && event.target.closest('input, button, a, select') !== null;
      if (other && event.target !== this.#button) return;
      event.preventDefault();
      if (event.repeat) return;
      down = true;
      gesture.down(event.timeStamp);
    });
    document.addEventListener('keyup', (event) => {
      if (event.code !== 'Space' || !down) return;
      down = false;
      event.preventDefault();
      gesture.up(event.timeStamp);
    });
  }
}
