/** @returns the word that was probably meant; undefined where more than half of the letters are other ones */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const byDistance = known
    .map((candidate) => ({ candidate, distance: distance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const [first] = byDistance;
  return first !== undefined && first.distance <= word.length / 2 ? first.candidate : undefined;
}

/** Letters to take away and to add. An exchange is both: what is left out counts less than what is another. */
function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 0; i < a.length; i += 1) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j += 1)
      row.push(a[i] === b[j] ? (above[j] ?? 0) : Math.min((above[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    above = row;
  }
  return above[b.length] ?? 0;
}
