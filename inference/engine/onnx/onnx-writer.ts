import type { FileHandle } from 'node:fs/promises';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ByteSpan } from './file-fields.ts';
import { ATTRIBUTE_TYPE, elementTypeId, ONNX } from './onnx-fields.ts';
import type { GraphFile } from './onnx-reader.ts';

/** Bytes of a file, or new ones. */
export type Fragment = ByteSpan | Uint8Array;

/** From this one on, weights need not be inputs, too. */
const MIN_IR_VERSION = 4;

/** A tensor as onnxruntime declares it. */
export interface TensorType {
  /** onnxruntime's name of it. */
  readonly element: string;
  readonly shape: readonly number[];
}

/**
 * A model whose graph has these fields; what the file says beside its graph stays. Of the file, only what is in the model
 * is read.
 * @throws Error when the file has become shorter
 */
export function writeModel(
  file: FileHandle,
  graph: GraphFile,
  name: string,
  contents: readonly Fragment[],
): Promise<Uint8Array> {
  const irVersion = intField(ONNX.model.irVersion, Math.max(graph.irVersion, MIN_IR_VERSION));
  const fields = messageField(ONNX.model.graph, [stringField(ONNX.graph.name, name), ...contents]);
  return join(file, [irVersion, ...graph.model, ...fields]);
}

/** A node of a graph. */
export function nodeField(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: readonly Fragment[] = [],
): Fragment[] {
  return messageField(ONNX.graph.node, [
    ...inputs.map((name) => stringField(ONNX.node.input, name)),
    ...outputs.map((name) => stringField(ONNX.node.output, name)),
    stringField(ONNX.node.operator, operator),
    ...attributes,
  ]);
}

export function intAttribute(name: string, value: number): Fragment[] {
  return attribute(name, ATTRIBUTE_TYPE.int, [intField(ONNX.attribute.int, value)]);
}

/** @param contents fields of the graph */
export function graphAttribute(name: string, contents: readonly Fragment[]): Fragment[] {
  const graph = messageField(ONNX.attribute.graph, [stringField(ONNX.graph.name, name), ...contents]);
  return attribute(name, ATTRIBUTE_TYPE.graph, graph);
}

function attribute(name: string, type: number, value: readonly Fragment[]): Fragment[] {
  const fields = [stringField(ONNX.attribute.name, name), intField(ONNX.attribute.type, type), ...value];
  return messageField(ONNX.node.attribute, fields);
}

/**
 * Declares an input or output of a graph.
 * @param type undefined if onnxruntime finds it out. In its shape, a size that is open is undefined.
 */
export function valueField(
  field: typeof ONNX.graph.input | typeof ONNX.graph.output,
  name: string,
  type?: { readonly element: string; readonly shape: readonly (number | undefined)[] },
): Fragment[] {
  const nameField = stringField(ONNX.valueInfo.name, name);
  if (type === undefined) return messageField(field, [nameField]);
  const dimensions = type.shape.flatMap((size) =>
    messageField(ONNX.shape.dimension, size === undefined ? [] : [intField(ONNX.dimension.value, size)]),
  );
  const tensor = [
    intField(ONNX.tensorType.elementType, elementTypeId(type.element)),
    ...messageField(ONNX.tensorType.shape, dimensions),
  ];
  const declared = messageField(ONNX.valueInfo.type, messageField(ONNX.type.tensor, tensor));
  return messageField(field, [nameField, ...declared]);
}

/** A message as a field of another one. */
function messageField(field: number, message: readonly Fragment[]): Fragment[] {
  const header = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(sizeOf(message));
  return [header.finish(), ...message];
}

function stringField(field: number, value: string): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish();
}

function intField(field: number, value: number): Uint8Array {
  return new BinaryWriter().tag(field, WireType.Varint).int64(value).finish();
}

/** One array of all fragments. */
async function join(file: FileHandle, fragments: readonly Fragment[]): Promise<Uint8Array> {
  const bytes = new Uint8Array(sizeOf(fragments));
  let at = 0;
  for (const fragment of merged(fragments)) {
    const length = lengthOf(fragment);
    if (fragment instanceof Uint8Array) bytes.set(fragment, at);
    else await readExactly(file, bytes.subarray(at, at + length), fragment.start);
    at += length;
  }
  return bytes;
}

function sizeOf(fragments: readonly Fragment[]): number {
  return fragments.reduce((sum, fragment) => sum + lengthOf(fragment), 0);
}

function lengthOf(fragment: Fragment): number {
  return fragment instanceof Uint8Array ? fragment.length : fragment.end - fragment.start;
}

/** A file that became shorter must not give weights of zero. */
async function readExactly(file: FileHandle, target: Uint8Array, position: number): Promise<void> {
  const { bytesRead } = await file.read(target, 0, target.length, position);
  if (bytesRead !== target.length)
    throw new Error(`found ${bytesRead} bytes at ${position}, expected ${target.length}`);
}

/** Those that follow one another in the file become one read: a graph has hundreds of nodes. */
function merged(fragments: readonly Fragment[]): Fragment[] {
  const found: Fragment[] = [];
  for (const fragment of fragments) {
    const last = found.at(-1);
    const follows =
      !(fragment instanceof Uint8Array || last instanceof Uint8Array) && last?.end === fragment.start;
    if (follows) found[found.length - 1] = { start: last.start, end: fragment.end };
    else found.push(fragment);
  }
  return found;
}
