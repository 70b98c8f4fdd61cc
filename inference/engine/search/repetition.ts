/** Tokens of a piece, and how many times in a row it means a loop. */
const LIMITS = [
  { minLength: 1, maxLength: 1, times: 8 },
  { minLength: 2, maxLength: 2, times: 5 },
  { minLength: 3, maxLength: 40, times: 3 },
] as const;

/**
 * Whether the tokens end in a loop. Measured on the bundled Whisper: no reference text of 82 recordings ends so, and 3 of
 * 36 noises made it repeat itself without end.
 * @returns how many tokens are left with one copy of what repeats; undefined when nothing does.
 */
export function lengthWithoutLoop(tokens: readonly number[]): number | undefined {
  for (const { minLength, maxLength, times } of LIMITS) {
    for (let length = minLength; length <= maxLength; length++) {
      if (length * times > tokens.length) break;
      if (repeats(tokens, length, times)) return tokens.length - length * (times - 1);
    }
  }
  return undefined;
}

function repeats(tokens: readonly number[], length: number, times: number): boolean {
  for (let back = 1; back <= length * (times - 1); back++)
    if (tokens[tokens.length - back] !== tokens[tokens.length - back - length]) return false;
  return true;
}
