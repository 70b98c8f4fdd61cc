import { type Language, textsFor } from '../texts/language.ts';
import type { Label } from '../texts/texts.ts';
import { find } from '../view/elements.ts';
import { announce } from '../view/notice.ts';
import { keep, kept } from './kept.ts';

const KEPT_AS = 'asr-language';

/** The texts in the language that the reader wants: the one chosen on this page before, or else the browser's first. */
export const wantedTexts = () => textsFor([kept('localStorage', KEPT_AS) ?? navigator.languages[0]]);

/** Gives the elements of index.html their words, and the reader a button that leads to the other language. */
export function offerLanguages(language: Language): void {
  language.show(document.documentElement, ({ lang }) => {
    document.documentElement.lang = lang;
    find('a#reference').href = `api-reference.${lang}`;
  });
  const meter = find('meter#level');
  language.show(meter, ({ level }) => meter.setAttribute('aria-label', level));
  for (const element of document.querySelectorAll('[data-text]')) {
    const english = element.textContent ?? '';
    const key = element.getAttribute('data-text') as Label;
    language.say(element, ({ labels }) => labels?.[key] ?? english);
  }
  const other = find('button#language');
  language.show(other, ({ otherLanguage: [lang, name] }) => {
    other.lang = lang;
    other.textContent = name;
  });
  other.onclick = () => {
    language.switch();
    // What was spoken last is in the other language.
    for (const urgent of [true, false]) announce('', urgent);
    keep('localStorage', KEPT_AS, language.texts.lang);
  };
}
