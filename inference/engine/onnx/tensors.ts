import { Tensor } from 'onnxruntime-node';
import { quoted } from '../../../common/errors/printable.ts';
import { InferenceError, ModelLoadError } from '../../recognizer.ts';
import { OPEN_SIZE } from './graph-messages.ts';
import type { OnnxOutline } from './onnx-reader.ts';
import type { OnnxModel } from './onnx-session.ts';

/** A tensor that a graph is expected to take, with batch size 1. */
export interface InputSpec {
  readonly name: string;
  readonly type: 'float32' | 'int32' | 'int64';
  readonly shape: readonly number[];
}

/** One that can be a recording's past. */
export interface TensorSpec extends InputSpec {
  readonly type: 'float32' | 'int64';
}

export function elementCount(spec: TensorSpec): number {
  return spec.shape.reduce((product, dimension) => product * dimension, 1);
}

export function zeroTensor(spec: TensorSpec): Tensor {
  switch (spec.type) {
    case 'float32':
      return new Tensor('float32', new Float32Array(elementCount(spec)), spec.shape);
    case 'int64':
      return new Tensor('int64', new BigInt64Array(elementCount(spec)), spec.shape);
    default:
      return spec.type satisfies never;
  }
}

/**
 * Compares the inputs that family and metadata ask for with the file's own, in order: name, type, shape.
 * @throws ModelLoadError at the first difference.
 */
export function checkInputs(outline: OnnxOutline, expected: readonly InputSpec[]): void {
  if (outline.inputs.length !== expected.length) {
    throw new ModelLoadError(
      `${outline.fileName}: found ${outline.inputs.length} inputs, expected ${expected.length} by its family and metadata`,
    );
  }
  for (const [i, spec] of expected.entries()) {
    const input = outline.inputs[i];
    if (input?.name !== spec.name) {
      throw new ModelLoadError(
        `${outline.fileName}: input ${i} is ${quoted(input?.name ?? '')}, expected ${quoted(spec.name)}`,
      );
    }
    if (input.type !== spec.type || !sameShape(input.shape, spec.shape)) {
      throw new ModelLoadError(
        `${outline.fileName}: input ${quoted(spec.name)} is ${input.type} ${shapeText(input.shape)}, expected ${spec.type} ${shapeText(spec.shape)}`,
      );
    }
  }
}

/**
 * Compares what the metadata of one file says with the rows of output 0 of `graph`. A size that the graph leaves open is right.
 * @throws ModelLoadError when they disagree.
 */
export function checkRowSize({ fileName }: OnnxOutline, key: string, size: number, graph: OnnxOutline): void {
  const found = graph.outputs[0]?.shape.at(-1);
  if (typeof found !== 'number' || found === size) return;
  throw new ModelLoadError(
    `${fileName}: metadata ${key} is ${size}, expected ${found} as in the output of ${graph.fileName}`,
  );
}

const SHOWN_DIMENSIONS = 8;

function shapeText(shape: readonly (number | string)[]): string {
  const shown = shape.slice(0, SHOWN_DIMENSIONS).map(dimensionText).join(', ');
  return shape.length > SHOWN_DIMENSIONS
    ? `[${shown} and ${shape.length - SHOWN_DIMENSIONS} more]`
    : `[${shown}]`;
}

/** A symbolic dimension is a name that the file chose. */
export function dimensionText(dimension: number | string | undefined): string {
  if (typeof dimension === 'number') return String(dimension);
  return dimension === undefined || dimension === OPEN_SIZE ? OPEN_SIZE : quoted(dimension);
}

/** A symbolic dimension fits every number. */
function sameShape(found: readonly (number | string)[], expected: readonly number[]): boolean {
  return (
    found.length === expected.length &&
    found.every((dimension, i) => typeof dimension === 'string' || dimension === expected[i])
  );
}

/** What a run gave, by name. */
export type Outputs = Readonly<Record<string, unknown>>;

export function outputNamed(onnx: OnnxModel, outputs: Outputs, name: string): Tensor {
  const output = outputs[name];
  if (!(output instanceof Tensor))
    throw new InferenceError(`${onnx.fileName}: the run gave no output ${quoted(name)}`);
  return output;
}

/** An output by its place. @throws InferenceError when it is of another type */
export function outputAt(onnx: OnnxModel, outputs: Outputs, index: number, type: Tensor['type']): Tensor {
  const output = outputNamed(onnx, outputs, onnx.outputNames[index] ?? '');
  if (output.type !== type)
    throw new InferenceError(`${onnx.fileName}: output ${index} is ${output.type}, expected ${type}`);
  return output;
}

/** (1, rows, rowSize). @param values row by row */
export function rowTensor(values: Float32Array, rowSize: number): Tensor {
  return new Tensor('float32', values, [1, values.length / rowSize, rowSize]);
}

export function int32Tensor(value: number): Tensor {
  return new Tensor('int32', Int32Array.of(value), [1]);
}

/** Output 0, the result. */
export function resultOf(onnx: OnnxModel, outputs: Outputs): Tensor {
  return outputNamed(onnx, outputs, onnx.outputNames[0] ?? '');
}

/** The values of output 0. @throws InferenceError when they are not float32 */
export function floatsOf(onnx: OnnxModel, outputs: Outputs): Float32Array {
  const { data, type } = resultOf(onnx, outputs);
  if (!(data instanceof Float32Array))
    throw new InferenceError(`${onnx.fileName}: output 0 is ${type}, expected float32`);
  return data;
}

/**
 * The values of output 0, in rows of `rowSize`.
 * @throws InferenceError for other rows: the runtime does not hold a graph to the size that it declares.
 */
export function rowsOf(onnx: OnnxModel, outputs: Outputs, rowSize: number): Float32Array {
  const found = resultOf(onnx, outputs).dims.at(-1);
  if (found !== rowSize) {
    throw new InferenceError(
      `${onnx.fileName}: output ${quoted(onnx.outputNames[0] ?? '')} has last dimension ${found ?? '(none)'} in a run, expected ${rowSize} as declared`,
    );
  }
  return floatsOf(onnx, outputs);
}
