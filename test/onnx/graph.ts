import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** TensorProto.DataType */
const DATA_TYPES = { float32: 1, int8: 3, uint8: 2, int32: 6, int64: 7, bool: 9 } as const;
export type DataType = keyof typeof DATA_TYPES;
/** A symbolic dimension is its name. */
export type Shape = readonly (number | string)[];
/** Name of a value in the graph. */
export type Value = string;

export type Attribute = number | string | readonly number[] | { readonly float: number };

const IR_VERSION = 8;
const OPSET = 17;

/**
 * Writes an ONNX model, field by field of onnx.proto: nodes in the order they are asked for, every value with a name of
 * its own. Just what the tests' and the benchmark's models need.
 */
export class OnnxGraph {
  readonly #nodes = new BinaryWriter();
  readonly #initializers = new BinaryWriter();
  readonly #inputs = new BinaryWriter();
  readonly #weights = new BinaryWriter();
  readonly #outputs = new BinaryWriter();
  readonly #metadata: [string, string][] = [];
  readonly #prefix: string;
  #values = 0;

  /** @param prefix of all names that it makes up. */
  constructor(prefix = '') {
    this.#prefix = prefix;
  }

  input(name: string, type: DataType, shape: Shape): Value {
    writeValueInfo(this.#inputs.tag(11, WireType.LengthDelimited), name, type, shape);
    return name;
  }

  /** A value by another name. */
  named(name: string, value: Value): Value {
    this.#node('Identity', [value], [name], {});
    return name;
  }

  /** Gives a value the name of an output, unless it has that name. */
  output(name: string, value: Value, type: DataType, shape: Shape): void {
    if (value !== name) this.named(name, value);
    writeValueInfo(this.#outputs.tag(12, WireType.LengthDelimited), name, type, shape);
  }

  metadata(entries: Readonly<Record<string, string | number | readonly number[]>>): void {
    for (const [key, value] of Object.entries(entries)) this.#metadata.push([key, String(value)]);
  }

  /** A node with one output. */
  op(type: string, inputs: readonly Value[], attributes: Readonly<Record<string, Attribute>> = {}): Value {
    const [output = ''] = this.ops(type, inputs, 1, attributes);
    return output;
  }

  /** A node with several outputs. */
  ops(
    type: string,
    inputs: readonly Value[],
    outputCount: number,
    attributes: Readonly<Record<string, Attribute>> = {},
  ): Value[] {
    const outputs = Array.from({ length: outputCount }, () => this.#newName(type));
    this.#node(type, inputs, outputs, attributes);
    return outputs;
  }

  /**
   * The same value, in a shape that nobody knows who only reads the graph.
   * @param from int64: what the shape may depend on, for all that is known
   */
  withOpenShape(value: Value, from: Value): Value {
    const zero = this.op('Mul', [this.op('ReduceMax', [from], { keepdims: 0 }), this.ints([0])]);
    return this.op('Reshape', [value, this.op('Add', [this.op('Shape', [value]), zero])]);
  }

  floats(data: Float32Array, shape: readonly number[]): Value {
    return this.#initializer('float32', shape, data);
  }

  float(value: number): Value {
    return this.floats(Float32Array.of(value), []);
  }

  bytes(data: Int8Array, shape: readonly number[]): Value {
    return this.#initializer('int8', shape, data);
  }

  ints(values: readonly number[]): Value {
    return this.#initializer('int64', [values.length], BigInt64Array.from(values, BigInt));
  }

  /** @param weightsAreInputs as the exporters for IR version 3 have it. */
  build({ weightsAreInputs = false, irVersion = IR_VERSION } = {}): Uint8Array {
    const graph = new BinaryWriter()
      .raw(this.#nodes.finish())
      .tag(2, WireType.LengthDelimited)
      .string('generated')
      .raw(this.#initializers.finish())
      .raw(this.#inputs.finish())
      .raw(weightsAreInputs ? this.#weights.finish() : new Uint8Array())
      .raw(this.#outputs.finish())
      .finish();
    const model = new BinaryWriter();
    model.tag(1, WireType.Varint).int64(irVersion);
    model.tag(2, WireType.LengthDelimited).string('test/onnx');
    model.tag(7, WireType.LengthDelimited).bytes(graph);
    model.tag(8, WireType.LengthDelimited).fork();
    model.tag(1, WireType.LengthDelimited).string('');
    model.tag(2, WireType.Varint).int64(OPSET);
    model.join();
    for (const [key, value] of this.#metadata) {
      model.tag(14, WireType.LengthDelimited).fork();
      model.tag(1, WireType.LengthDelimited).string(key);
      model.tag(2, WireType.LengthDelimited).string(value);
      model.join();
    }
    return model.finish();
  }

  #newName(kind: string): string {
    this.#values += 1;
    return `${this.#prefix}${kind}_${this.#values}`;
  }

  #initializer(type: DataType, shape: readonly number[], data: ArrayBufferView): Value {
    const name = this.#newName('weight');
    writeValueInfo(this.#weights.tag(11, WireType.LengthDelimited), name, type, shape);
    const writer = this.#initializers.tag(5, WireType.LengthDelimited).fork();
    for (const dimension of shape) writer.tag(1, WireType.Varint).int64(dimension);
    writer.tag(2, WireType.Varint).int32(DATA_TYPES[type]);
    writer.tag(8, WireType.LengthDelimited).string(name);
    writer
      .tag(9, WireType.LengthDelimited)
      .bytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
      .join();
    return name;
  }

  #node(
    type: string,
    inputs: readonly Value[],
    outputs: readonly Value[],
    attributes: Readonly<Record<string, Attribute>>,
  ): void {
    const writer = this.#nodes.tag(1, WireType.LengthDelimited).fork();
    for (const input of inputs) writer.tag(1, WireType.LengthDelimited).string(input);
    for (const output of outputs) writer.tag(2, WireType.LengthDelimited).string(output);
    writer.tag(3, WireType.LengthDelimited).string(outputs[0] ?? '');
    writer.tag(4, WireType.LengthDelimited).string(type);
    for (const [name, value] of Object.entries(attributes)) writeAttribute(writer, name, value);
    writer.join();
  }
}

/** AttributeProto: name 1, f 2, i 3, s 4, ints 8, type 20 (1 float, 2 int, 3 string, 7 ints). */
function writeAttribute(writer: BinaryWriter, name: string, value: Attribute): void {
  writer.tag(5, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(name);
  if (typeof value === 'number') {
    writer.tag(3, WireType.Varint).int64(value).tag(20, WireType.Varint).int32(2);
  } else if (typeof value === 'string') {
    writer.tag(4, WireType.LengthDelimited).string(value).tag(20, WireType.Varint).int32(3);
  } else if ('float' in value) {
    writer.tag(2, WireType.Bit32).float(value.float).tag(20, WireType.Varint).int32(1);
  } else {
    for (const item of value) writer.tag(8, WireType.Varint).int64(item);
    writer.tag(20, WireType.Varint).int32(7);
  }
  writer.join();
}

/** ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 | dim_param 2 } } } } */
function writeValueInfo(writer: BinaryWriter, name: string, type: DataType, shape: Shape): void {
  writer.fork().tag(1, WireType.LengthDelimited).string(name);
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int32(DATA_TYPES[type]);
  writer.tag(2, WireType.LengthDelimited).fork();
  for (const dimension of shape) {
    writer.tag(1, WireType.LengthDelimited).fork();
    if (typeof dimension === 'number') writer.tag(1, WireType.Varint).int64(dimension);
    else writer.tag(2, WireType.LengthDelimited).string(dimension);
    writer.join();
  }
  writer.join().join().join().join();
}
