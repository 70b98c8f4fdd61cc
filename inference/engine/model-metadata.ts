import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { ModelLoadError } from '../recognizer.ts';

/** What metadata may ask for: 30 s of window, and states whose sizes are no mistake. */
export const MAX_WINDOW_FRAMES = 3000;
export const MAX_DIMENSION = 1_000_000;

/** Field numbers of ModelProto (onnx.proto) that matter here. */
const GRAPH_FIELD = 7;
const METADATA_PROPS_FIELD = 14;

/** A tag and a length: two varints. */
const HEADER_MAX_BYTES = 20;
const METADATA_ENTRY_MAX_BYTES = 1 << 20;

/**
 * The `metadata_props` of an ONNX file, which onnxruntime does not hand out. Reads a few kilobytes however large the
 * file is: everything else is skipped by its length.
 * @throws ModelLoadError when the file is missing, no ONNX model, or shorter than its parts say.
 */
export async function readModelMetadata(path: string): Promise<ModelMetadata> {
  const name = basename(path);
  const file = await open(path).catch((cause: unknown) => {
    throw new ModelLoadError(`${path}: cannot be read (${errorText(cause)}), expected an ONNX model`);
  });
  try {
    return new ModelMetadata(name, await readEntries(file, name));
  } finally {
    await file.close();
  }
}

async function readEntries(file: FileHandle, name: string): Promise<Map<string, string>> {
  const { size } = await file.stat();
  const entries = new Map<string, string>();
  let hasGraph = false;
  let position = 0;
  while (position < size) {
    const field = readHeader(
      await readAt(file, position, Math.min(HEADER_MAX_BYTES, size - position)),
      name,
      position,
    );
    const start = position + field.headerBytes;
    const end = start + field.bodyBytes;
    if (end > size) {
      throw new ModelLoadError(
        `${name}: found ${size} bytes, expected at least ${end}: the file is truncated, copy or download it again`,
      );
    }
    if (field.number === GRAPH_FIELD) hasGraph = true;
    if (field.number === METADATA_PROPS_FIELD) {
      if (field.bodyBytes > METADATA_ENTRY_MAX_BYTES) {
        throw new ModelLoadError(
          `${name}: found a metadata entry of ${field.bodyBytes} bytes, expected at most ${METADATA_ENTRY_MAX_BYTES}`,
        );
      }
      const [key, value] = readStringEntry(await readAt(file, start, field.bodyBytes), name);
      entries.set(key, value);
    }
    position = end;
  }
  if (!hasGraph)
    throw new ModelLoadError(`${name}: found ${size} bytes without a graph, expected an ONNX model`);
  return entries;
}

interface FieldHeader {
  readonly number: number;
  readonly headerBytes: number;
  readonly bodyBytes: number;
}

function readHeader(bytes: Uint8Array, name: string, position: number): FieldHeader {
  const reader = new BinaryReader(bytes);
  try {
    const [number, wireType] = reader.tag();
    switch (wireType) {
      case WireType.LengthDelimited: {
        const bodyBytes = reader.uint32();
        return { number, headerBytes: reader.pos, bodyBytes };
      }
      case WireType.Varint:
        reader.uint64();
        return { number, headerBytes: reader.pos, bodyBytes: 0 };
      case WireType.Bit64:
        return { number, headerBytes: reader.pos, bodyBytes: 8 };
      case WireType.Bit32:
        return { number, headerBytes: reader.pos, bodyBytes: 4 };
      default:
        throw new Error(`wire type ${wireType}`);
    }
  } catch (cause) {
    throw new ModelLoadError(
      `${name}: found no protobuf field at byte ${position} (${errorText(cause)}), expected an ONNX model`,
    );
  }
}

/** A StringStringEntryProto: key = 1, value = 2. */
function readStringEntry(bytes: Uint8Array, name: string): [key: string, value: string] {
  const reader = new BinaryReader(bytes);
  let key = '';
  let value = '';
  try {
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (number === 1 && wireType === WireType.LengthDelimited) key = reader.string();
      else if (number === 2 && wireType === WireType.LengthDelimited) value = reader.string();
      else reader.skip(wireType);
    }
  } catch (cause) {
    throw new ModelLoadError(
      `${name}: found a damaged metadata entry (${errorText(cause)}), expected key and value`,
    );
  }
  return [key, value];
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  return bytes.subarray(0, bytesRead);
}

/** First line of an error: a ModelLoadError is one line. */
export function errorText(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split('\n', 1)[0] ?? '';
}

/** Typed reads of one file's metadata; a missing or malformed value is a ModelLoadError that names file and key. */
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

  /** Comma-separated whole numbers in [min, max]; `length` of them when given. */
  integers(key: string, min: number, max: number, length?: number): readonly number[] {
    const expected = `${length ?? 'comma-separated'} integers from ${min} to ${max}`;
    const parts = this.#required(key, expected).split(',');
    if (length !== undefined && parts.length !== length) {
      throw new ModelLoadError(
        `${this.fileName}: metadata ${key} has ${parts.length} values, expected ${length} as in the other lists`,
      );
    }
    return parts.map((part) => this.#parse(key, part, min, max));
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
        `${this.fileName}: metadata ${key} is ${JSON.stringify(text.slice(0, 40))}, expected an integer from ${min} to ${max}`,
      );
    }
    return value;
  }
}
