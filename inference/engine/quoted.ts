const MAX_CHARACTERS = 40;
/** Control characters, marks that turn the direction of writing and the like, separators of lines. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A word from a file, for an error: cut short, and without a character that a terminal or a log would act on. */
export function quoted(word: string): string {
  // JSON leaves all but those below the space as they are.
  return JSON.stringify(word.slice(0, MAX_CHARACTERS)).replace(
    INVISIBLE,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
