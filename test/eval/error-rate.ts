export interface Errors {
  /** Characters inserted, deleted and replaced. */
  readonly wrong: number;
  /** Characters of the true text. */
  readonly total: number;
}

/**
 * What is left of a text when only its words count: full-width forms made half-width, letters lower case, punctuation and spaces gone.
 */
export function spokenCharacters(text: string): string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  return [...plain.replace(/[^\p{Letter}\p{Number}\p{Mark}]/gu, '')];
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
