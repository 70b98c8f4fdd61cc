import type { FileHandle } from 'node:fs/promises';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { ModelLoadError } from '../../recognizer.ts';
import { errorText } from '../text/error-text.ts';

/** Two varints: a tag, and a length or a value. */
const HEADER_MAX_BYTES = 20;
const WINDOW_BYTES = 16_384;
const MESSAGE_MAX_BYTES = 1 << 20;

/** Bytes from `start` up to `end`. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

export interface ProtobufField {
  readonly number: number;
  /** Tag, length and content. */
  readonly span: ByteSpan;
  /** The content alone; empty for a number. */
  readonly body: ByteSpan;
}

/** Walks the protobuf fields of a file and skips their contents without reading them. */
export class FileFields {
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly #file: FileHandle;
  #window = new Uint8Array(0);
  #windowStart = 0;

  constructor(file: FileHandle, fileName: string, sizeBytes: number) {
    this.#file = file;
    this.fileName = fileName;
    this.sizeBytes = sizeBytes;
  }

  /** @throws ModelLoadError when a field is malformed or ends behind the file. */
  async *within(span: ByteSpan): AsyncGenerator<ProtobufField> {
    for (let position = span.start; position < span.end; ) {
      const field = await this.#fieldAt(position);
      if (field.span.end > this.sizeBytes) {
        throw new ModelLoadError(
          `${this.fileName}: found ${this.sizeBytes} bytes, expected at least ${field.span.end}: the file is truncated, copy or download it again`,
        );
      }
      yield field;
      position = field.span.end;
    }
  }

  /** @param what names the message where it is larger than such a message can be. */
  async read(span: ByteSpan, what: string): Promise<Uint8Array> {
    const length = span.end - span.start;
    if (length > MESSAGE_MAX_BYTES) {
      throw new ModelLoadError(
        `${this.fileName}: found a ${what} of ${length} bytes, expected at most ${MESSAGE_MAX_BYTES}`,
      );
    }
    return this.#bytesAt(span.start, length);
  }

  async #fieldAt(start: number): Promise<ProtobufField> {
    const reader = new BinaryReader(await this.#bytesAt(start, HEADER_MAX_BYTES));
    try {
      const [number, wireType] = reader.tag();
      const length = bodyLength(reader, wireType);
      const body = { start: start + reader.pos, end: start + reader.pos + length };
      return { number, span: { start, end: body.end }, body };
    } catch (cause) {
      throw new ModelLoadError(
        `${this.fileName}: found no protobuf field at byte ${start} (${errorText(cause)}), expected an ONNX model`,
      );
    }
  }

  /** Up to `length` bytes; fewer at the end of the file. */
  async #bytesAt(position: number, length: number): Promise<Uint8Array> {
    const wanted = Math.min(length, this.sizeBytes - position);
    if (position < this.#windowStart || position + wanted > this.#windowStart + this.#window.length) {
      const buffer = new Uint8Array(Math.max(WINDOW_BYTES, wanted));
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, position);
      this.#window = buffer.subarray(0, bytesRead);
      this.#windowStart = position;
    }
    return this.#window.subarray(position - this.#windowStart, position - this.#windowStart + wanted);
  }
}

/** Reads the length, or the number itself. */
function bodyLength(reader: BinaryReader, wireType: WireType): number {
  switch (wireType) {
    case WireType.LengthDelimited:
      return reader.uint32();
    case WireType.Varint:
      reader.uint64();
      return 0;
    case WireType.Bit64:
      return 8;
    case WireType.Bit32:
      return 4;
    default:
      throw new Error(`wire type ${wireType}`);
  }
}
