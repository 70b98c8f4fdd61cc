import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { InferenceError, ModelLoadError } from '../recognizer.ts';
import type { OnnxModel } from './onnx-session.ts';

/** A tensor that a graph is expected to take, with batch size 1. */
export interface TensorSpec {
  readonly name: string;
  readonly type: 'float32' | 'int64';
  readonly shape: readonly number[];
}

export function zeroTensor(spec: TensorSpec): Tensor {
  const size = spec.shape.reduce((product, dimension) => product * dimension, 1);
  switch (spec.type) {
    case 'float32':
      return new Tensor('float32', new Float32Array(size), spec.shape);
    case 'int64':
      return new Tensor('int64', new BigInt64Array(size), spec.shape);
    default:
      return spec.type satisfies never;
  }
}

/**
 * Compares the sizes that metadata and family ask for with the graph's own inputs.
 * @throws ModelLoadError at the first difference.
 */
export function checkInputs(onnx: OnnxModel, expected: readonly TensorSpec[]): void {
  for (const spec of expected) {
    const input = onnx.input(spec.name);
    if (input?.isTensor !== true) {
      throw new ModelLoadError(
        `${onnx.fileName}: found inputs ${onnx.inputNames.slice(0, 8).join(', ')}, expected one named ${spec.name}`,
      );
    }
    if (input.type !== spec.type || !sameShape(input.shape, spec.shape)) {
      throw new ModelLoadError(
        `${onnx.fileName}: input ${spec.name} is ${input.type} [${input.shape.join(', ')}], expected ${spec.type} [${spec.shape.join(', ')}]`,
      );
    }
  }
  if (onnx.inputNames.length !== expected.length) {
    throw new ModelLoadError(
      `${onnx.fileName}: found ${onnx.inputNames.length} inputs, expected ${expected.length} by its metadata`,
    );
  }
}

/** A symbolic dimension fits every number. */
function sameShape(found: readonly (number | string)[], expected: readonly number[]): boolean {
  return (
    found.length === expected.length &&
    found.every((dimension, i) => typeof dimension === 'string' || dimension === expected[i])
  );
}

/** The output at this position: outputs are matched to states by order, not by name. */
export function outputAt(onnx: OnnxModel, outputs: InferenceSession.ReturnType, index: number): Tensor {
  const name = onnx.outputNames[index];
  const output = name === undefined ? undefined : outputs[name];
  if (!(output instanceof Tensor))
    throw new InferenceError(`${onnx.fileName}: the run gave no output ${index}`);
  return output;
}
