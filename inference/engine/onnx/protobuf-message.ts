import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** Walks the fields of a message in memory; `onField` reads or skips each. */
export function visit(
  bytes: Uint8Array,
  onField: (number: number, reader: BinaryReader, wireType: WireType) => void,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    onField(number, reader, wireType);
  }
}

/** Hands every message with this field number over. */
export function visitChildren(
  bytes: Uint8Array,
  wanted: number,
  onMessage: (bytes: Uint8Array) => void,
): void {
  visit(bytes, (number, reader, wireType) => {
    if (number === wanted && wireType === WireType.LengthDelimited) onMessage(reader.bytes());
    else reader.skip(wireType);
  });
}
