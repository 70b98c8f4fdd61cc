import type { FileHandle } from 'node:fs/promises';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ByteSpan } from './file-fields.ts';

/** Bytes of a file, or new ones. */
export type Piece = ByteSpan | Uint8Array;

/** A message as a field of another one. */
export function messageField(field: number, message: readonly Piece[]): Piece[] {
  const header = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(sizeOf(message));
  return [header.finish(), ...message];
}

export function stringField(field: number, value: string): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish();
}

export function intField(field: number, value: number): Uint8Array {
  return new BinaryWriter().tag(field, WireType.Varint).int64(value).finish();
}

/** One array of all pieces. Of the file, only the pieces are read. @throws Error when it has become shorter */
export async function join(file: FileHandle, pieces: readonly Piece[]): Promise<Uint8Array> {
  const bytes = new Uint8Array(sizeOf(pieces));
  let at = 0;
  for (const piece of merged(pieces)) {
    const length = lengthOf(piece);
    if (piece instanceof Uint8Array) bytes.set(piece, at);
    else await readExactly(file, bytes.subarray(at, at + length), piece.start);
    at += length;
  }
  return bytes;
}

function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + lengthOf(piece), 0);
}

function lengthOf(piece: Piece): number {
  return piece instanceof Uint8Array ? piece.length : piece.end - piece.start;
}

/** A file that became shorter must not give weights of zero. */
async function readExactly(file: FileHandle, target: Uint8Array, position: number): Promise<void> {
  const { bytesRead } = await file.read(target, 0, target.length, position);
  if (bytesRead !== target.length)
    throw new Error(`found ${bytesRead} bytes at ${position}, expected ${target.length}`);
}

/** Pieces that follow one another in the file become one read: a graph has hundreds of nodes. */
function merged(pieces: readonly Piece[]): Piece[] {
  const found: Piece[] = [];
  for (const piece of pieces) {
    const last = found.at(-1);
    const follows = !(piece instanceof Uint8Array || last instanceof Uint8Array) && last?.end === piece.start;
    if (follows) found[found.length - 1] = { start: last.start, end: piece.end };
    else found.push(piece);
  }
  return found;
}
