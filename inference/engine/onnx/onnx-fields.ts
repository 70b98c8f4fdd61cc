/** Field numbers of onnx.proto, by message. */
export const ONNX = {
  model: { irVersion: 1, graph: 7, metadata: 14 },
  metadata: { key: 1, value: 2 },
  graph: { node: 1, name: 2, initializer: 5, input: 11, output: 12, sparseInitializer: 15 },
  node: { input: 1, output: 2, operator: 4, attribute: 5 },
  attribute: { name: 1, int: 3, graph: 6, graphs: 11, type: 20 },
  tensor: { dataType: 2, name: 8, externalData: 13 },
  valueInfo: { name: 1, type: 2 },
  type: { tensor: 1 },
  tensorType: { elementType: 1, shape: 2 },
  shape: { dimension: 1 },
  dimension: { value: 1, name: 2 },
} as const;

/** AttributeProto.AttributeType */
export const ATTRIBUTE_TYPE = { int: 2, graph: 5 } as const;

/** TensorProto.DataType, from 1, by onnxruntime's names. */
const ELEMENT_TYPES =
  'float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128 bfloat16'.split(
    ' ',
  );

export function elementType(id: number): string {
  return ELEMENT_TYPES[id - 1] ?? `element type ${id}`;
}

/** For an unknown name it is 0, which is no type. */
export function elementTypeId(name: string): number {
  return ELEMENT_TYPES.indexOf(name) + 1;
}

/** Bytes of one value in weights, about: those of more than 32 bits are few. */
export function elementBytes(id: number): number {
  const [bits] = /(?<!\d)(?:8|16)$/.exec(elementType(id)) ?? ['32'];
  return Number(bits) / 8;
}
