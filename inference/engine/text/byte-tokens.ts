import { ModelLoadError } from '../../recognizer.ts';
import type { TokenTable } from './tokens.ts';

/**
 * Stands for no bytes: the last line of openai/whisper's `multilingual.tiktoken`, and so of every
 * multilingual archive's tokens.
 */
const NO_BYTES = '=';

/**
 * Whisper's tokens. Each is some bytes of UTF-8, often no whole character; `tokens.txt` has them in base64. The order of
 * ids is the rank of byte pair encoding (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units",
 * 2016), so the same table encodes text.
 */
export class ByteTokens {
  readonly #bytes: ReadonlyMap<number, Uint8Array>;
  /** Ids by bytes, written as Latin-1. */
  readonly #ids: ReadonlyMap<string, number>;

  /** @param count ids from 0 that stand for bytes; those behind are commands to the model. @throws ModelLoadError */
  constructor(table: TokenTable, count: number) {
    const bytes = new Map<number, Uint8Array>();
    const ids = new Map<string, number>();
    for (let id = 0; id < count; id++) {
      const symbol = table.symbol(id);
      const token = Buffer.from(symbol, 'base64');
      if (symbol !== NO_BYTES && (token.length === 0 || token.toString('base64') !== symbol)) {
        throw new ModelLoadError(
          `${table.fileName}: found no base64 for id ${id}, expected ids 0 to ${count - 1} as Whisper's exports have them`,
        );
      }
      bytes.set(id, token);
      ids.set(token.toString('latin1'), id);
    }
    this.#bytes = bytes;
    this.#ids = ids;
  }

  /** The tokens' bytes, joined. Ids that stand for none are left out. */
  bytes(ids: readonly number[]): Uint8Array {
    return Buffer.concat(ids.map((id) => this.#bytes.get(id) ?? new Uint8Array(0)));
  }

  /** Joins the pair that is the token with the lowest id, again and again, until no pair is a token. */
  encode(text: string): number[] {
    const pieces = Array.from(Buffer.from(text), (byte) => String.fromCharCode(byte));
    for (;;) {
      let best = -1;
      let bestId = Number.POSITIVE_INFINITY;
      for (let i = 0; i + 1 < pieces.length; i++) {
        const id = this.#ids.get(`${pieces[i]}${pieces[i + 1]}`) ?? Number.POSITIVE_INFINITY;
        if (id < bestId) [best, bestId] = [i, id];
      }
      if (best < 0) break;
      pieces.splice(best, 2, `${pieces[best]}${pieces[best + 1]}`);
    }
    return pieces.flatMap((piece) => this.#ids.get(piece) ?? []);
  }
}

/** How many of the tokens form whole characters together, from the first on. */
export function wholeCharacterTokens(tokens: ByteTokens, ids: readonly number[]): number {
  for (let count = ids.length; count > 0; count--)
    if (endsWhole(tokens.bytes(ids.slice(0, count)))) return count;
  return 0;
}

/** Whether UTF-8 bytes do not end within a character (RFC 3629, section 3). */
function endsWhole(bytes: Uint8Array): boolean {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    const isContinuation = byte >= 0x80 && byte < 0xc0;
    if (isContinuation) continue;
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return back >= length;
  }
  return true;
}
