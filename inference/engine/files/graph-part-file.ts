import type { FileHandle } from 'node:fs/promises';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { GraphFile, GraphNode } from './graph-file.ts';
import { type ByteSpan, elementTypeId } from './onnx-outline.ts';

/** Field numbers of onnx.proto. */
const MODEL = { graph: 7 } as const;
const GRAPH = { name: 2, input: 11, output: 12 } as const;
const VALUE_INFO = { name: 1, type: 2 } as const;
const TYPE = { tensor: 1 } as const;
const TENSOR_TYPE = { elementType: 1, shape: 2 } as const;
const SHAPE = { dimension: 1 } as const;

/** A tensor as onnxruntime declares it. */
export interface TensorType {
  /** onnxruntime's name of it. */
  readonly element: string;
  /** undefined where nobody knows it before a run. */
  readonly rank: number | undefined;
}

export interface PartContents {
  readonly nodes: readonly GraphNode[];
  /** Weights and inputs of the whole graph. */
  readonly reads: Iterable<string>;
  /** Inputs that the whole graph makes itself. */
  readonly takes: ReadonlyMap<string, TensorType>;
  readonly gives: readonly string[];
}

/** An ONNX model of some of a file's nodes. Of the file, only what is in it is read. */
export async function readGraphPart(
  file: FileHandle,
  graph: GraphFile,
  part: PartContents,
): Promise<Uint8Array> {
  const declared = [...part.reads].flatMap(
    (name) => graph.weights.get(name)?.span ?? graph.inputs.get(name) ?? [],
  );
  const body: (ByteSpan | Uint8Array)[] = [
    ...part.nodes.map(({ span }) => span),
    new BinaryWriter().tag(GRAPH.name, WireType.LengthDelimited).string('part').finish(),
    ...declared,
    ...[...part.takes].map(([name, type]) => inputField(name, type)),
    ...part.gives.map((name) => graph.outputs.get(name) ?? outputField(name)),
  ];
  const header = new BinaryWriter().tag(MODEL.graph, WireType.LengthDelimited).uint32(sizeOf(body)).finish();
  return join(file, [...graph.model, header, ...body]);
}

function inputField(name: string, { element, rank }: TensorType): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(GRAPH.input, WireType.LengthDelimited).fork();
  writer.tag(VALUE_INFO.name, WireType.LengthDelimited).string(name);
  writer.tag(VALUE_INFO.type, WireType.LengthDelimited).fork();
  writer.tag(TYPE.tensor, WireType.LengthDelimited).fork();
  writer.tag(TENSOR_TYPE.elementType, WireType.Varint).int32(elementTypeId(element));
  if (rank !== undefined) {
    writer.tag(TENSOR_TYPE.shape, WireType.LengthDelimited).fork();
    for (let i = 0; i < rank; i++) writer.tag(SHAPE.dimension, WireType.LengthDelimited).fork().join();
    writer.join();
  }
  return writer.join().join().join().finish();
}

/** onnxruntime finds the type out. */
function outputField(name: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(GRAPH.output, WireType.LengthDelimited).fork();
  return writer.tag(VALUE_INFO.name, WireType.LengthDelimited).string(name).join().finish();
}

function sizeOf(pieces: readonly (ByteSpan | Uint8Array)[]): number {
  return pieces.reduce((sum, piece) => sum + lengthOf(piece), 0);
}

function lengthOf(piece: ByteSpan | Uint8Array): number {
  return piece instanceof Uint8Array ? piece.length : piece.end - piece.start;
}

/** A file that became shorter must not give weights of zero. */
async function readExactly(file: FileHandle, target: Uint8Array, position: number): Promise<void> {
  const { bytesRead } = await file.read(target, 0, target.length, position);
  if (bytesRead !== target.length)
    throw new Error(`found ${bytesRead} bytes at ${position}, expected ${target.length}`);
}

/** What follows one another in the file is one read: a graph has hundreds of nodes. */
function merged(pieces: readonly (ByteSpan | Uint8Array)[]): (ByteSpan | Uint8Array)[] {
  const found: (ByteSpan | Uint8Array)[] = [];
  for (const piece of pieces) {
    const last = found.at(-1);
    const follows = !(piece instanceof Uint8Array || last instanceof Uint8Array) && last?.end === piece.start;
    if (follows) found[found.length - 1] = { start: last.start, end: piece.end };
    else found.push(piece);
  }
  return found;
}

async function join(file: FileHandle, pieces: readonly (ByteSpan | Uint8Array)[]): Promise<Uint8Array> {
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
