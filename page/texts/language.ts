import type { Texts } from './texts.ts';
import { english } from './texts-en.ts';
import { chinese } from './texts-zh.ts';

/** Chinese when the first of these languages is Chinese, else English. */
export function textsFor(languages: readonly (string | undefined)[]): Texts {
  return languages[0]?.toLowerCase().startsWith('zh') ? chinese : english;
}

/** The reader's language. What is shown by it changes its words when the language is switched. */
export class Language {
  #texts: Texts;
  readonly #shown = new WeakMap<Element, () => void>();

  constructor(texts: Texts) {
    this.#texts = texts;
  }

  get texts(): Texts {
    return this.#texts;
  }

  /** The element's words, now and in every later language. A later call for the same element takes the place of this one. */
  say(element: Element, words: (texts: Texts) => string): void {
    this.show(element, (texts) => {
      element.textContent = words(texts);
    });
  }

  /** As `say`, for what is more than the element's text. */
  show(element: Element, render: (texts: Texts) => void): void {
    const shown = (): void => render(this.#texts);
    this.#shown.set(element, shown);
    shown();
  }

  switch(): void {
    this.#texts = this.#texts === chinese ? english : chinese;
    for (const element of document.querySelectorAll('*')) this.#shown.get(element)?.();
  }
}
