import type { Language } from '../texts/language.ts';
import type { Texts, Word } from '../texts/texts.ts';

/** The element of index.html with this tag and id. @throws Error when the page and its script do not belong together. */
export function find<K extends keyof HTMLElementTagNameMap>(
  name: `${K}#${string}`,
): HTMLElementTagNameMap[K] {
  const element = document.querySelector<HTMLElementTagNameMap[K]>(name);
  if (element === null) throw new Error(`index.html has no ${name}`);
  return element;
}

/** A new element; children are elements or text, never markup. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A new element with words in the reader's language. */
export function worded<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>>,
  language: Language,
  words: (texts: Texts) => string,
): HTMLElementTagNameMap[K] {
  const element = make(tag, attributes);
  language.say(element, words);
  return element;
}

/** Of what fits its place on the smallest phone. */
const SHORT_TEXT_CHARACTERS = 60;

/** A long text is scrolled in its place, with the keyboard, too. */
export function reachable(element: HTMLElement, text: string): void {
  if (text.length > SHORT_TEXT_CHARACTERS) element.tabIndex = 0;
  else element.removeAttribute('tabindex');
}

export function button(language: Language, word: Word, press: () => void): HTMLButtonElement {
  const attributes = { type: 'button', class: 'quiet' };
  const element = worded('button', attributes, language, (texts) => texts[word]);
  element.onclick = press;
  return element;
}
