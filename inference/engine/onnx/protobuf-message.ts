import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** A message in memory: its fields by their numbers. */
export class ProtobufMessage {
  readonly #contents = new Map<number, Uint8Array[]>();
  readonly #numbers = new Map<number, number>();

  /** @throws Error when it is no message. */
  constructor(bytes: Uint8Array) {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (wireType === WireType.Varint) this.#numbers.set(number, Number(reader.int64()));
      else if (wireType !== WireType.LengthDelimited) reader.skip(wireType);
      else this.#contents.set(number, [...(this.#contents.get(number) ?? []), reader.bytes()]);
    }
  }

  number(field: number): number | undefined {
    return this.#numbers.get(field);
  }

  /** '' when it is not there. */
  string(field: number): string {
    return this.strings(field).at(-1) ?? '';
  }

  strings(field: number): string[] {
    return (this.#contents.get(field) ?? []).map((bytes) => Buffer.from(bytes).toString());
  }

  message(field: number): ProtobufMessage | undefined {
    return this.messages(field).at(-1);
  }

  messages(...fields: readonly number[]): ProtobufMessage[] {
    return fields
      .flatMap((field) => this.#contents.get(field) ?? [])
      .map((bytes) => new ProtobufMessage(bytes));
  }
}
