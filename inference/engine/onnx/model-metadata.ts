import { quoted } from '../../../common/errors/printable.ts';
import { ModelLoadError } from '../../recognizer.ts';

/** What metadata may ask for: 30 s of window, and states whose sizes are no mistake. */
export const MAX_WINDOW_FRAMES = 3000;
export const MAX_DIMENSION = 1_000_000;

/** Typed reads of one file's `metadata_props`; a missing or malformed value is a ModelLoadError that names file and key. */
export class ModelMetadata {
  readonly fileName: string;
  readonly #entries: ReadonlyMap<string, string>;

  constructor(fileName: string, entries: ReadonlyMap<string, string>) {
    this.fileName = fileName;
    this.#entries = entries;
  }

  text(key: string): string | undefined {
    return this.#entries.get(key);
  }

  /** A whole number in [min, max]. */
  integer(key: string, min: number, max: number): number {
    return this.#parse(key, this.#required(key, `an integer from ${min} to ${max}`), min, max);
  }

  /**
   * Comma-separated whole numbers in [min, max], `length` of them when given. A comma too many means nothing,
   * as in sherpa-onnx.
   */
  integers(key: string, min: number, max: number, length?: number): readonly number[] {
    const expected = `${length ?? 'comma-separated'} integers from ${min} to ${max}`;
    const text = this.#required(key, expected);
    const parts = text.split(',').filter((part) => part !== '');
    if (length !== undefined && parts.length !== length) {
      throw new ModelLoadError(
        `${this.fileName}: metadata ${key} has ${parts.length} values, expected ${length} as in the other lists`,
      );
    }
    if (parts.length === 0)
      throw new ModelLoadError(`${this.fileName}: metadata ${key} is ${quoted(text)}, expected ${expected}`);
    return parts.map((part) => this.#parse(key, part, min, max));
  }

  /** `length` comma-separated numbers. A comma too many means nothing here, either. */
  numbers(key: string, length: number): Float32Array {
    const expected = `${length} numbers`;
    const parts = this.#required(key, expected)
      .split(',')
      .filter((part) => part !== '');
    const wrong = parts.find((part) => part.trim() === '' || !Number.isFinite(Number(part)));
    if (wrong !== undefined || parts.length !== length) {
      const found = wrong === undefined ? `${parts.length} values` : `the value ${quoted(wrong)}`;
      throw new ModelLoadError(`${this.fileName}: metadata ${key} has ${found}, expected ${expected}`);
    }
    return Float32Array.from(parts, Number);
  }

  #required(key: string, expected: string): string {
    const text = this.#entries.get(key);
    if (text === undefined)
      throw new ModelLoadError(`${this.fileName}: found no metadata ${key}, expected ${expected}`);
    return text;
  }

  #parse(key: string, text: string, min: number, max: number): number {
    const value = /^\s*-?\d{1,15}\s*$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) {
      throw new ModelLoadError(
        `${this.fileName}: metadata ${key} is ${quoted(text)}, expected an integer from ${min} to ${max}`,
      );
    }
    return value;
  }
}
