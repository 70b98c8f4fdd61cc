import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { quoted } from '../../../common/errors/printable.ts';
import { ModelLoadError } from '../../recognizer.ts';
import { errorText } from './error-text.ts';

const BLANK_SYMBOLS = ['<blk>', '<eps>', '<blank>'] as const;
const UNKNOWN_SYMBOL = '<unk>';
/** The largest tables have some hundred thousand lines. */
const MAX_TOKENS_BYTES = 64 * 1024 * 1024;

/** ASCII white space only: an ideographic space can be a symbol. */
const SEPARATOR = /[ \t\r\n\f\v]+/;

/** `<unk>`, `<blk>`, `<sos/eos>`: never part of the text. */
export const isSpecialSymbol = (symbol: string): boolean => /^<[^<>\s]+>$/.test(symbol);

/** The symbols of `tokens.txt` (`symbol id` per line). */
export class TokenTable {
  readonly fileName: string;
  readonly #symbols: ReadonlyMap<number, string>;

  constructor(fileName: string, symbols: ReadonlyMap<number, string>) {
    this.fileName = fileName;
    this.#symbols = symbols;
  }

  /** As in the file, `▁` and byte tokens included; '' for an id that is not in the table. */
  symbol(id: number): string {
    return this.#symbols.get(id) ?? '';
  }

  symbols(): Iterable<string> {
    return this.#symbols.values();
  }

  /** Id of the blank of a CTC model. */
  get ctcBlankId(): number {
    for (const symbol of BLANK_SYMBOLS) {
      const id = this.idOf(symbol);
      if (id !== undefined) return id;
    }
    throw new ModelLoadError(
      `${this.fileName}: found no blank symbol, expected one of ${BLANK_SYMBOLS.join(', ')}`,
    );
  }

  get unknownId(): number | undefined {
    return this.idOf(UNKNOWN_SYMBOL);
  }

  idOf(symbol: string): number | undefined {
    for (const [id, other] of this.#symbols) if (other === symbol) return id;
    return undefined;
  }

  /**
   * Every output of the model needs a symbol, and every symbol an output. Only the `#0`, `#1` … that icefall writes for
   * its lexicons behind the vocabulary need none.
   * @param modelName the file whose output has `vocabularySize` values.
   */
  checkAgainst(vocabularySize: number, modelName: string): void {
    for (let id = 0; id < vocabularySize; id++) {
      if (!this.#symbols.has(id)) {
        throw new ModelLoadError(
          `${this.fileName}: found no symbol for id ${id}, expected ids 0 to ${vocabularySize - 1} as in the output of ${modelName}`,
        );
      }
    }
    for (const [id, symbol] of this.#symbols) {
      if (id >= vocabularySize && !/^#\d+$/.test(symbol)) {
        throw new ModelLoadError(
          `${this.fileName}: found ${quoted(symbol)} with id ${id}, expected ids below ${vocabularySize} as in the output of ${modelName}`,
        );
      }
    }
  }
}

export async function readTokenTable(path: string): Promise<TokenTable> {
  const name = basename(path);
  const bytes = await readSmallFile(path).catch((cause: unknown) => {
    throw new ModelLoadError(
      `${path}: cannot be read (${errorText(cause)}), expected a line "symbol id" per token`,
    );
  });
  return new TokenTable(name, parseTokens(decodeUtf8(bytes, name), name));
}

/** A device or a pipe would be read without end. */
async function readSmallFile(path: string): Promise<Uint8Array> {
  const about = await stat(path);
  if (!about.isFile()) throw new Error('not a regular file');
  if (about.size > MAX_TOKENS_BYTES) throw new Error(`${about.size} bytes, over ${MAX_TOKENS_BYTES}`);
  return readFile(path);
}

function decodeUtf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ModelLoadError(
      `${name}: found bytes that are not UTF-8, expected a line "symbol id" per token`,
    );
  }
}

export function parseTokens(text: string, name: string): Map<number, string> {
  const symbols = new Map<number, string>();
  for (const [index, line] of text.split('\n').entries()) {
    const parts = line.split(SEPARATOR).filter((part) => part !== '');
    if (parts.length === 0) continue;
    // A line with an id alone is the symbol " ".
    const [symbol, idText] = parts.length === 1 ? [' ', parts[0]] : parts;
    if (symbol === undefined || idText === undefined || parts.length > 2 || !/^\d{1,7}$/.test(idText)) {
      throw new ModelLoadError(`${name}: line ${index + 1} is ${quoted(line)}, expected "symbol id"`);
    }
    const id = Number(idText);
    const taken = symbols.get(id);
    if (taken !== undefined) {
      throw new ModelLoadError(
        `${name}: line ${index + 1} gives id ${id} to ${quoted(symbol)}, expected it to be free (it is ${quoted(taken)})`,
      );
    }
    symbols.set(id, symbol);
  }
  return symbols;
}
