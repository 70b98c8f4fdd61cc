const MAX_CHARACTERS = 40;
/** Control characters, marks that turn the direction of writing and the like, separators of lines. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** An error whose message may repeat what files and servers say: none of it steers a terminal or begins a line of its own. */
export class PrintableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
  }
}

/** A word from a file or a server, for an error: cut short, and without a character that a terminal or a log would act on. */
export function quoted(word: string): string {
  // Of such characters, JSON escapes only those below the space.
  return printable(JSON.stringify(word.slice(0, MAX_CHARACTERS)));
}

/** A text of others with a code in place of each character that a terminal or a log would act on. */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
