import type { Texts } from '../texts/texts.ts';
import { find, make } from './elements.ts';
import { splitAtChange } from './text-change.ts';

/** The large text: the words as they come, then the result. */
export class Transcript {
  readonly #element = find('p#transcript');
  readonly #texts: Texts;
  #text = '';

  constructor(texts: Texts) {
    this.#texts = texts;
    this.clear();
  }

  get text(): string {
    return this.#text;
  }

  clear(): void {
    this.#hint(this.#texts.placeholder);
  }

  /** What goes on while there is no word yet. */
  wait(words: string): void {
    if (this.#text === '') this.#hint(words);
  }

  partial(text: string): void {
    const [kept, changed] = splitAtChange(this.#text, text);
    this.#show(text, kept, make('span', { class: 'changing' }, changed));
  }

  final(text: string): void {
    if (text === '') this.#hint(this.#texts.nothingHeard);
    else this.#show(text, text);
  }

  #show(text: string, ...content: (Node | string)[]): void {
    this.#text = text;
    this.#element.lang = 'zh-CN';
    this.#element.classList.remove('empty');
    this.#element.replaceChildren(...content);
  }

  #hint(words: string): void {
    this.#text = '';
    this.#element.lang = this.#texts.lang;
    this.#element.classList.add('empty');
    this.#element.replaceChildren(words);
  }
}
