import type { ByteSpan } from './file-fields.ts';
import { elementType, ONNX } from './onnx-fields.ts';
import type { ProtobufMessage } from './protobuf-message.ts';

/** A dimension that the file does not name. */
export const OPEN_SIZE = '?';

/** An input or output of the graph. */
export interface GraphValue {
  readonly name: string;
  /** onnxruntime's name of its element type, or what else the file says. */
  readonly type: string;
  /** Symbolic dimensions are names; '?' when the file does not say. */
  readonly shape: readonly (number | string)[];
}

export interface GraphNode {
  /** Its field in the file. */
  readonly span: ByteSpan;
  /** Its kind, such as `MatMul`. */
  readonly operator: string;
  /** Values that it reads, those of the graphs inside it included. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** @param value a ValueInfoProto of onnx.proto */
export function graphValueOf(value: ProtobufMessage): GraphValue {
  const tensor = value.message(ONNX.valueInfo.type)?.message(ONNX.type.tensor);
  const typeId = tensor?.number(ONNX.tensorType.elementType);
  const dimensions = tensor?.message(ONNX.tensorType.shape)?.messages(ONNX.shape.dimension) ?? [];
  return {
    name: value.string(ONNX.valueInfo.name),
    type: typeId === undefined ? 'no tensor' : elementType(typeId),
    shape: dimensions.map((dimension) => {
      const size = dimension.number(ONNX.dimension.value);
      // Some exporters write −1 for a size that they leave open.
      return size === undefined || size < 0 ? dimension.string(ONNX.dimension.name) || OPEN_SIZE : size;
    }),
  };
}

/** @param node a NodeProto of onnx.proto */
export function nodeOf(node: ProtobufMessage): Omit<GraphNode, 'span'> {
  const { graph, graphs } = ONNX.attribute;
  const inner = node.messages(ONNX.node.attribute).flatMap((attribute) => attribute.messages(graph, graphs));
  return {
    operator: node.string(ONNX.node.operator),
    // An optional input that is left out has an empty name.
    inputs: [...node.strings(ONNX.node.input).filter(Boolean), ...inner.flatMap(readBy)],
    outputs: node.strings(ONNX.node.output),
  };
}

/** What the branches of an `If` and the body of a `Loop` read, their own values among it. */
function readBy(graph: ProtobufMessage): string[] {
  const { node, output } = ONNX.graph;
  return [
    ...graph.messages(node).flatMap((each) => nodeOf(each).inputs),
    ...graph.messages(output).map((each) => each.string(ONNX.valueInfo.name)),
  ];
}
