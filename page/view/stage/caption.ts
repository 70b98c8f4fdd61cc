import type { Now } from '../../recording/now.ts';
import type { Language } from '../../texts/language.ts';
import type { DictationState, Texts } from '../../texts/texts.ts';
import { find, make, reachable } from '../elements.ts';
import { splitAtChange } from './text-change.ts';

/** A line of it. */
const NEAR_END_PX = 50;

type Hint = (texts: Texts) => string;
const howToStart: Hint = ({ placeholder }) => placeholder;
/** The button says that it is being recognized; nobody needs to keep speaking. */
const nothing: Hint = () => '';

/** What stands there while there is no word yet. */
const HINTS: Readonly<Record<DictationState, Hint>> = {
  idle: howToStart,
  opening: howToStart,
  recording: ({ listening }) => listening,
  recognizing: nothing,
  waiting: nothing,
};

/** The large text while somebody speaks: the words as they come. The result is shown with the recording. */
export class Caption {
  readonly #element = find('p#transcript');
  readonly #language: Language;
  #text = '';
  #hint: Hint | undefined;

  constructor(language: Language) {
    this.#language = language;
  }

  show({ state, text }: Now): void {
    const hint = state === 'idle' || text === '' ? HINTS[state] : undefined;
    if (hint === this.#hint && text === this.#text) return;
    this.#hint = hint;
    if (hint === undefined) this.#showWords(text);
    else this.#showHint(hint);
  }

  #showWords(text: string): void {
    const [kept, changed] = splitAtChange(this.#text, text);
    this.#text = text;
    const { scrollHeight, scrollTop, clientHeight } = this.#element;
    // Unless somebody has scrolled back, to read what was said before.
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    reachable(this.#element, text);
    this.#language.show(this.#element, () => {
      this.#element.lang = 'zh-CN';
      this.#element.classList.remove('empty');
      this.#element.replaceChildren(kept, make('span', { class: 'changing' }, changed));
      if (isAtEnd) this.#element.scrollTop = this.#element.scrollHeight;
    });
  }

  #showHint(hint: Hint): void {
    this.#text = '';
    reachable(this.#element, '');
    this.#language.show(this.#element, (texts) => {
      this.#element.lang = texts.lang;
      this.#element.classList.add('empty');
      this.#element.replaceChildren(hint(texts));
    });
  }
}
