import type { TokenTable } from './tokens.ts';

/** `<0xE4>`: one byte of a UTF-8 character. */
const BYTE_SYMBOL = /^<0x([0-9A-F]{2})>$/;
/** `<unk>`, `<blk>`, `<sos/eos>`: never part of the text. */
const SPECIAL_SYMBOL = /^<[^<>\s]+>$/;
const WORD_START = '▁';
const SPACES_BETWEEN_CHINESE =
  /(?<=[\p{Script=Han}\u3001-\u303f\uff00-\uffef]) +(?=[\p{Script=Han}\u3001-\u303f\uff00-\uffef])/gu;

/**
 * Turns token ids into text: byte tokens become characters, `▁` becomes a space, spaces between Chinese characters
 * (and their punctuation) go. Bytes of a character that is not complete are not shown.
 */
export class TranscriptWriter {
  readonly #pieces = new Map<number, Uint8Array>();
  readonly #tokens: TokenTable;
  readonly #encoder = new TextEncoder();

  constructor(tokens: TokenTable) {
    this.#tokens = tokens;
  }

  /** The full text of these tokens. */
  text(tokenIds: readonly number[]): string {
    const pieces = tokenIds.map((id) => this.#piece(id));
    const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let end = 0;
    for (const piece of pieces) {
      bytes.set(piece, end);
      end += piece.length;
    }
    // `stream` keeps the bytes of an unfinished character back; bytes that are no UTF-8 become U+FFFD.
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
    return text.replaceAll('\ufffd', '').replace(SPACES_BETWEEN_CHINESE, '').trim();
  }

  #piece(id: number): Uint8Array {
    const known = this.#pieces.get(id);
    if (known !== undefined) return known;
    const piece = this.#bytesOf(this.#tokens.symbol(id));
    this.#pieces.set(id, piece);
    return piece;
  }

  #bytesOf(symbol: string): Uint8Array {
    const byte = BYTE_SYMBOL.exec(symbol)?.[1];
    if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
    if (SPECIAL_SYMBOL.test(symbol)) return new Uint8Array(0);
    return this.#encoder.encode(symbol.startsWith(WORD_START) ? ` ${symbol.slice(1)}` : symbol);
  }
}
