const MIN_COPIES = 3;
/** Of all copies together: fewer tokens may be a number, or a word that is said with emphasis. */
const MIN_REPEATED = 8;

/** @returns how many tokens are left with one copy of what repeats at their end; all if nothing does. */
export function lengthWithoutLoop(tokens: readonly number[]): number {
  for (let period = 1; MIN_COPIES * period <= tokens.length; period++) {
    let start = tokens.length - period;
    while (start > 0 && tokens[start - 1] === tokens[start - 1 + period]) start -= 1;
    if (tokens.length - start >= Math.max(MIN_COPIES * period, MIN_REPEATED)) return start + period;
  }
  return tokens.length;
}
