import { byteBpeBytes, isByteBpe } from './byte-bpe.ts';
import { chineseText } from './chinese-text.ts';
import { isSpecialSymbol, type TokenTable } from './tokens.ts';

/** `<0xE4>`: one byte of a UTF-8 character. */
const BYTE_SYMBOL = /^<0x([0-9A-F]{2})>$/i;
const WORD_START = '▁';
/** ASCII's, CJK's and the full-width ones. */
const SPACES_BEFORE_PUNCTUATION =
  / +(?=[!-/:-@[-`{-~\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65])/g;
const SPACE = 0x20;

/** Turns a recording's tokens into its text. */
export interface Transcript {
  /** The full text of these tokens. */
  text(tokenIds: readonly number[]): string;
}

interface Written {
  readonly bytes: Uint8Array;
  /** A space goes in front. */
  readonly startsWord: boolean;
}

/**
 * Turns token ids into text. Byte tokens become characters, and `▁` becomes a space. Spaces between Chinese
 * characters (and their punctuation) go. If the model is a transducer, spaces before punctuation go too.
 * Bytes of a character that is not complete are not shown.
 */
export class TranscriptWriter implements Transcript {
  readonly #written = new Map<number, Written>();
  readonly #tokens: TokenTable;
  readonly #byteBpe: boolean;
  readonly #search: 'ctc' | 'transducer';

  /** @param search what the tokens come from */
  constructor(tokens: TokenTable, search: 'ctc' | 'transducer' = 'ctc') {
    this.#tokens = tokens;
    this.#search = search;
    this.#byteBpe = isByteBpe(tokens.symbols());
  }

  /** The full text of these tokens. */
  text(tokenIds: readonly number[]): string {
    const bytes: number[] = [];
    for (const id of tokenIds) {
      const written = this.#writtenBy(id);
      if (written.startsWord && (!this.#byteBpe || isPrintableAscii(bytes.at(-1)))) bytes.push(SPACE);
      bytes.push(...written.bytes);
    }
    const joined = chineseText(Uint8Array.from(bytes));
    // As sherpa-onnx does, for transducers alone.
    return this.#search === 'transducer' ? joined.replace(SPACES_BEFORE_PUNCTUATION, '') : joined;
  }

  #writtenBy(id: number): Written {
    let written = this.#written.get(id);
    if (written === undefined) {
      written = this.#toWritten(this.#tokens.symbol(id));
      this.#written.set(id, written);
    }
    return written;
  }

  #toWritten(symbol: string): Written {
    const byte = BYTE_SYMBOL.exec(symbol)?.[1];
    if (byte !== undefined) return { bytes: Uint8Array.of(Number.parseInt(byte, 16)), startsWord: false };
    if (isSpecialSymbol(symbol)) return { bytes: new Uint8Array(0), startsWord: false };
    const startsWord = symbol.startsWith(WORD_START);
    const rest = startsWord ? symbol.slice(WORD_START.length) : symbol;
    return { bytes: this.#byteBpe ? byteBpeBytes(rest) : new TextEncoder().encode(rest), startsWord };
  }
}

/** With byte-level BPE, a space is put only behind a printable ASCII character, as sherpa-onnx does. */
function isPrintableAscii(byte: number | undefined): boolean {
  return byte !== undefined && byte > SPACE && byte < 0x7f;
}
