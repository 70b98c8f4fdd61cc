import type { Language } from '../texts/language.ts';
import type { Texts } from '../texts/texts.ts';
import { find, make, reachable } from './elements.ts';
import { splitAtChange } from './text-change.ts';

/** A line of it. */
const NEAR_END_PX = 50;

/** The large text while somebody speaks: the words as they come. The result is shown with the recording. */
export class Transcript {
  readonly #element = find('p#transcript');
  readonly #language: Language;
  #text = '';

  constructor(language: Language) {
    this.#language = language;
    this.clear();
  }

  clear(): void {
    this.#hint(({ placeholder }) => placeholder);
  }

  /** What goes on while there is no word yet. */
  wait(words: (texts: Texts) => string): void {
    if (this.#text === '') this.#hint(words);
  }

  partial(text: string): void {
    if (text === '' && this.#text === '') return;
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

  #hint(words: (texts: Texts) => string): void {
    this.#text = '';
    reachable(this.#element, '');
    this.#language.show(this.#element, (texts) => {
      this.#element.lang = texts.lang;
      this.#element.classList.add('empty');
      this.#element.replaceChildren(words(texts));
    });
  }
}
