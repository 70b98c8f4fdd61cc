/**
 * Byte-level BPE as icefall writes it: every byte of the UTF-8 text is one printable character, so that symbols of
 * `tokens.txt` look like `ƋŞħ`. The characters of the bytes 0 to 255, in this order, are these ranges of code points.
 */
const CODE_POINT_RANGES = [
  [256, 287],
  [32, 126],
  [288, 305],
  [308, 318],
  [321, 328],
  [330, 382],
  [384, 422],
] as const;

const WORD_START = '▁';
/** Only byte-level BPE has symbols in this range: the characters of the last bytes. */
const HIGHEST_RANGE = /[\u0180-\u01bf]/;
const WITHIN_RANGES = /^[\0-\u01bf]*$/;

function* bytesByCodePoint(): Generator<[codePoint: number, byte: number]> {
  let byte = 0;
  for (const [first, last] of CODE_POINT_RANGES) {
    for (let codePoint = first; codePoint <= last; codePoint++) yield [codePoint, byte++];
  }
}

/** Told by the symbols alone, as in sherpa-onnx: none outside the ranges, some in the highest. */
export function isByteBpe(symbols: Iterable<string>): boolean {
  let hasHighest = false;
  for (const symbol of symbols) {
    const rest = symbol.startsWith(WORD_START) ? symbol.slice(WORD_START.length) : symbol;
    if (!WITHIN_RANGES.test(rest)) return false;
    hasHighest ||= HIGHEST_RANGE.test(rest);
  }
  return hasHighest;
}

/** The bytes that a symbol stands for; characters outside the ranges stand for nothing. */
export function byteBpeBytes(symbol: string): Uint8Array {
  const table = new Map(bytesByCodePoint());
  return Uint8Array.from(
    [...symbol].flatMap((character) => {
      const byte = table.get(character.codePointAt(0) ?? -1);
      return byte === undefined ? [] : [byte];
    }),
  );
}
