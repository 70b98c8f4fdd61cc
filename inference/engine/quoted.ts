const MAX_CHARACTERS = 40;

/** A word from a file, for an error: cut short, and without a character that a terminal or a log would act on. */
export function quoted(word: string): string {
  // What JSON leaves as it is: delete and the C1 controls, separators of lines, marks that turn the direction of writing.
  return JSON.stringify(word.slice(0, MAX_CHARACTERS)).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
