export interface Errors {
  /** Characters inserted, deleted and replaced. */
  readonly wrong: number;
  /** Characters of the true text. */
  readonly total: number;
}

const DIGITS = '零一二三四五六七八九';
/** Other ways to write the digits 1 (as said in telephone numbers) and 0. */
const SAME_DIGIT: Readonly<Record<string, string>> = { 幺: '一', 〇: '零' };

/**
 * What counts of a text. NFKC (full-width forms become half-width) and lower case; each ASCII digit is the
 * Chinese one, so 29 is 二九 and not 二十九; 幺 is 一 and 〇 is 零; punctuation, symbols and spaces are dropped. For
 * what was said and what was heard alike.
 * @returns code points
 */
export function spokenCharacters(text: string): string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  const spoken = plain.replace(/[^\p{Letter}\p{Number}\p{Mark}]/gu, '');
  return [...spoken].map((character) =>
    /[0-9]/.test(character) ? DIGITS.charAt(Number(character)) : (SAME_DIGIT[character] ?? character),
  );
}

/** Levenshtein distance in characters (code points), as character error rates count it. */
export function countErrors(truth: string, heard: string): Errors {
  const said = spokenCharacters(truth);
  const got = spokenCharacters(heard);
  let above = Array.from({ length: got.length + 1 }, (_, column) => column);
  for (const [i, character] of said.entries()) {
    const row = [i + 1];
    for (const [j, other] of got.entries()) {
      const replaced = (above[j] ?? 0) + (character === other ? 0 : 1);
      row.push(Math.min(replaced, (above[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
    above = row;
  }
  return { wrong: above[got.length] ?? 0, total: said.length };
}

/** @returns per cent; 0 when there is nothing to hear and nothing was heard. */
export function errorRatePercent({ wrong, total }: Errors): number {
  return wrong === 0 ? 0 : (100 * wrong) / total;
}
