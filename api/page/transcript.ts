import { find, make } from './elements.ts';
import type { Texts } from './texts.ts';

/** Splits a new snapshot of the text into what the one before said too and the end that is new or rewritten. */
export function splitAtChange(before: string, now: string): [kept: string, changed: string] {
  const old = [...before];
  const characters = [...now];
  let same = 0;
  while (same < characters.length && characters[same] === old[same]) same += 1;
  return [characters.slice(0, same).join(''), characters.slice(same).join('')];
}

/** The large text: the words as they come, then the result. */
export class Transcript {
  readonly #element = find('transcript', HTMLParagraphElement);
  readonly #texts: Texts;
  #text = '';

  constructor(texts: Texts) {
    this.#texts = texts;
    this.#hint(texts.placeholder);
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
