import type { FileHandle } from 'node:fs/promises';
import { intField, join, messageField, type Piece, stringField } from '../onnx/byte-pieces.ts';
import type { GraphFile, GraphNode } from '../onnx/graph-file.ts';
import { elementTypeId } from '../onnx/onnx-outline.ts';

/** Field numbers of onnx.proto. */
const MODEL = { irVersion: 1, graph: 7 } as const;
/** From this one on, weights need not be inputs, too. */
const MIN_IR_VERSION = 4;
export const GRAPH = { node: 1, name: 2, input: 11, output: 12 } as const;
const VALUE_INFO = { name: 1, type: 2 } as const;
const TYPE = { tensor: 1 } as const;
const TENSOR_TYPE = { elementType: 1, shape: 2 } as const;
const SHAPE = { dimension: 1 } as const;
const DIMENSION = { value: 1 } as const;

/** A tensor as onnxruntime declares it. */
export interface TensorType {
  /** onnxruntime's name of it. */
  readonly element: string;
  readonly shape: readonly number[];
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
  return joinModel(file, graph, [
    ...part.nodes.map(({ span }) => span),
    stringField(GRAPH.name, 'part'),
    ...[...part.reads].flatMap((name) => graph.weights.get(name)?.span ?? graph.inputs.get(name) ?? []),
    ...[...part.takes].flatMap(([name, type]) => valueField(GRAPH.input, name, type)),
    ...part.gives.flatMap((name) => valueField(GRAPH.output, name)),
  ]);
}

/** @param contents fields of the new model's graph; what the file says beside its graph stays. */
export function joinModel(
  file: FileHandle,
  graph: GraphFile,
  contents: readonly Piece[],
): Promise<Uint8Array> {
  const irVersion = intField(MODEL.irVersion, Math.max(graph.irVersion, MIN_IR_VERSION));
  return join(file, [irVersion, ...graph.model, ...messageField(MODEL.graph, contents)]);
}

/**
 * Declares an input or output of a graph.
 * @param type undefined if onnxruntime finds it out. In its shape, a size that is open is undefined.
 */
export function valueField(
  field: number,
  name: string,
  type?: { readonly element: string; readonly shape: readonly (number | undefined)[] },
): Piece[] {
  const nameField = stringField(VALUE_INFO.name, name);
  if (type === undefined) return messageField(field, [nameField]);
  const dimensions = type.shape.flatMap((size) =>
    messageField(SHAPE.dimension, size === undefined ? [] : [intField(DIMENSION.value, size)]),
  );
  const tensor = [
    intField(TENSOR_TYPE.elementType, elementTypeId(type.element)),
    ...messageField(TENSOR_TYPE.shape, dimensions),
  ];
  return messageField(field, [
    nameField,
    ...messageField(VALUE_INFO.type, messageField(TYPE.tensor, tensor)),
  ]);
}
