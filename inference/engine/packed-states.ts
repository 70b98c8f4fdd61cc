import { open } from 'node:fs/promises';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ByteSpan, OnnxOutline } from './onnx-outline.ts';
import type { NetworkSignature } from './stateful-network.ts';
import { elementCount, type TensorSpec } from './tensors.ts';

/** Split takes its sizes as an input from this version of the operators on. */
const MIN_OPSET = 13;
const PACKED = 'asr_packed_states';
const PACKED_NEXT = 'asr_packed_states_next';

export interface PackedModel {
  /** The ONNX file with its graph changed. */
  readonly bytes: Uint8Array;
  readonly signature: NetworkSignature;
}

/** Whether `packStates` can be used, and is worth its while. */
export function canPackStates(outline: OnnxOutline, signature: NetworkSignature): boolean {
  return outline.opset >= MIN_OPSET && signature.states.length > 8;
}

/**
 * A Zipformer hands 74 or 98 states from step to step. Each is cheap for the runtime and costs some 20 µs on its way out to
 * JavaScript and back in, some milliseconds a step in all. This gives the graph one input and one output that hold all
 * float states one behind the other, and the nodes that take them apart in front of, and put them together behind, the nodes
 * that are there. It also gives every input its true size where the export left the batch size open, so that the runtime works
 * shapes out when it loads. Nothing else changes: the same nodes compute the same numbers.
 */
export async function packStates(outline: OnnxOutline, signature: NetworkSignature): Promise<PackedModel> {
  const floats = signature.states.filter((state) => state.type === 'float32');
  const others = signature.states.filter((state) => state.type !== 'float32');
  const outputOf = (state: TensorSpec): { name: string; span: ByteSpan } => {
    const output = outline.outputs[signature.firstStateOutput + signature.states.indexOf(state)];
    if (output === undefined) throw new RangeError(`${outline.fileName} has no output for ${state.name}`);
    return output;
  };
  const packed: TensorSpec = {
    name: PACKED,
    type: 'float32',
    shape: [floats.reduce((sum, state) => sum + elementCount(state), 0)],
  };
  const front = frontOfGraph(floats);
  const back = backOfGraph(
    floats.map((state) => outputOf(state).name),
    [signature.input, ...others, packed],
    packed,
  );
  const removed = [...outline.inputs, ...floats.map(outputOf)].map(({ span }) => span);
  return {
    bytes: await rewrite(outline, front, removed, back),
    signature: {
      input: signature.input,
      constants: signature.constants,
      states: [...others, packed],
      // The result, then what is left of the outputs in their order, then the packed states.
      firstStateOutput: signature.firstStateOutput,
    },
  };
}

/** Nodes that give every state the name under which the graph reads it. */
function frontOfGraph(states: readonly TensorSpec[]): Uint8Array {
  const writer = new BinaryWriter();
  const flat = states.map((state) => `${state.name}/asr_flat`);
  writeInts(writer, 'asr_sizes', states.map(elementCount));
  writeNode(writer, 'Split', [PACKED, 'asr_sizes'], flat);
  for (const [i, state] of states.entries()) {
    const shape = `${state.name}/asr_shape`;
    writeInts(writer, shape, state.shape);
    writeNode(writer, 'Reshape', [flat[i] ?? '', shape], [state.name]);
  }
  return writer.finish();
}

/** Nodes that put the new states together, the inputs with their sizes, and the new output. */
function backOfGraph(
  newStates: readonly string[],
  inputs: readonly TensorSpec[],
  packed: TensorSpec,
): Uint8Array {
  const writer = new BinaryWriter();
  writeInts(writer, 'asr_flat_shape', [-1]);
  const flat = newStates.map((name) => `${name}/asr_flat`);
  for (const [i, name] of newStates.entries()) {
    writeNode(writer, 'Reshape', [name, 'asr_flat_shape'], [flat[i] ?? '']);
  }
  writeNode(writer, 'Concat', flat, [PACKED_NEXT], { axis: 0 });
  for (const input of inputs) writeValueInfo(writer.tag(11, WireType.LengthDelimited), input);
  writeValueInfo(writer.tag(12, WireType.LengthDelimited), { ...packed, name: PACKED_NEXT });
  return writer.finish();
}

/** The file with a new front and back in its graph, and without the removed spans: read straight to where it goes. */
async function rewrite(
  outline: OnnxOutline,
  front: Uint8Array,
  removed: readonly ByteSpan[],
  back: Uint8Array,
): Promise<Uint8Array> {
  const { graphField, graphBody, sizeBytes } = outline;
  const kept: ByteSpan[] = [];
  let position = graphBody.start;
  for (const span of [...removed].sort((a, b) => a.start - b.start)) {
    kept.push({ start: position, end: span.start });
    position = span.end;
  }
  kept.push({ start: position, end: graphBody.end });
  const graphBytes = kept.reduce((sum, span) => sum + span.end - span.start, front.length + back.length);
  const header = new BinaryWriter().tag(7, WireType.LengthDelimited).uint32(graphBytes).finish();
  const parts: (ByteSpan | Uint8Array)[] = [
    { start: 0, end: graphField.start },
    header,
    front,
    ...kept,
    back,
    { start: graphField.end, end: sizeBytes },
  ];
  const length = (part: ByteSpan | Uint8Array): number =>
    part instanceof Uint8Array ? part.length : part.end - part.start;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + length(part), 0));
  const file = await open(outline.path);
  try {
    let end = 0;
    for (const part of parts) {
      if (part instanceof Uint8Array) bytes.set(part, end);
      else await file.read(bytes, end, length(part), part.start);
      end += length(part);
    }
  } finally {
    await file.close();
  }
  return bytes;
}

/** NodeProto in GraphProto.node (1): input 1, output 2, name 3, op_type 4, attribute 5. */
function writeNode(
  writer: BinaryWriter,
  type: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, number>> = {},
): void {
  writer.tag(1, WireType.LengthDelimited).fork();
  for (const input of inputs) writer.tag(1, WireType.LengthDelimited).string(input);
  for (const output of outputs) writer.tag(2, WireType.LengthDelimited).string(output);
  writer.tag(3, WireType.LengthDelimited).string(outputs[0] ?? '');
  writer.tag(4, WireType.LengthDelimited).string(type);
  for (const [name, value] of Object.entries(attributes)) {
    writer.tag(5, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(name);
    writer.tag(3, WireType.Varint).int64(value);
    writer.tag(20, WireType.Varint).int32(2).join();
  }
  writer.join();
}

/** TensorProto in GraphProto.initializer (5): dims 1, data_type 2 (7 is int64), int64_data 7, name 8. */
function writeInts(writer: BinaryWriter, name: string, values: readonly number[]): void {
  writer.tag(5, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int64(values.length);
  writer.tag(2, WireType.Varint).int32(7);
  for (const value of values) writer.tag(7, WireType.Varint).int64(value);
  writer.tag(8, WireType.LengthDelimited).string(name).join();
}

/** ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1 } } } } */
function writeValueInfo(writer: BinaryWriter, spec: TensorSpec): void {
  writer.fork().tag(1, WireType.LengthDelimited).string(spec.name);
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int32(spec.type === 'float32' ? 1 : 7);
  writer.tag(2, WireType.LengthDelimited).fork();
  for (const dimension of spec.shape) {
    writer.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.Varint).int64(dimension).join();
  }
  writer.join().join().join().join();
}
