import type { Language } from '../../texts/language.ts';
import type { Word } from '../../texts/texts.ts';
import { button, make } from '../elements.ts';
import { announce } from '../notice.ts';

const CONFIRMED_MS = 1_500;

/** Pages without HTTPS, or without the permission, have no clipboard, only this. */
function copySelected(text: string): void {
  const area = make('textarea', { class: 'unseen' });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

/** A button that copies what `text` gives when it is pressed, and says so. */
export function copyButton(language: Language, word: Word, text: () => string): HTMLButtonElement {
  const element = button(language, word, async () => {
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      copySelected(text());
      // The selection took the focus with it.
      element.focus();
    }
    announce(language.texts.copied);
    language.say(element, ({ copied }) => copied);
    setTimeout(() => language.say(element, (texts) => texts[word]), CONFIRMED_MS);
  });
  return element;
}
