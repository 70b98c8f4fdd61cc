import type { Tensor } from 'onnxruntime-node';
import { ModelLoadError } from '../../recognizer.ts';
import type { OnnxOutline } from './onnx-outline.ts';
import { checkInputs, elementCount, type TensorSpec } from './tensors.ts';

/** What goes into a network that is run step by step, and what comes out. */
export interface NetworkSignature {
  /** The features' tensor. */
  readonly input: TensorSpec;
  /** Inputs that are the same in every step. */
  readonly constants: Readonly<Record<string, Tensor>>;
  /** Inputs that carry a recording's past, in the order of the outputs that replace them. */
  readonly states: readonly TensorSpec[];
  /** Index of the output that replaces the first state; output 0 is the result. */
  readonly firstStateOutput: number;
}

/** A state, and the output that replaces it. */
export interface StateSpec {
  readonly spec: TensorSpec;
  readonly next: string;
}

export function statesOf(
  outline: OnnxOutline,
  signature: Pick<NetworkSignature, 'states' | 'firstStateOutput'>,
): StateSpec[] {
  const { states, firstStateOutput } = signature;
  return states.map((spec, i) => ({ spec, next: outline.outputs[firstStateOutput + i]?.name ?? '' }));
}

/** The most values that a step's input and states may have together: 256 MiB as float32. icefall's Zipformer of 66 M parameters has half a million. */
const MAX_VALUES = 64 * 2 ** 20;

/**
 * @throws ModelLoadError when the file has other inputs, other outputs than a result and one for each state, or states that no recording
 * could have memory for.
 */
export function checkSignature(
  outline: OnnxOutline,
  inputs: readonly TensorSpec[],
  signature: NetworkSignature,
): void {
  checkInputs(outline, inputs);
  const expected = signature.firstStateOutput + signature.states.length;
  if (outline.outputs.length !== expected) {
    throw new ModelLoadError(
      `${outline.fileName}: found ${outline.outputs.length} outputs, expected ${expected}: one for each of ${signature.states.length} states`,
    );
  }
  // Metadata bounds every dimension by itself. If the graph leaves them open, nothing else bounds their product.
  const valueCount = inputs.reduce((sum, spec) => sum + elementCount(spec), 0);
  if (valueCount > MAX_VALUES) {
    throw new ModelLoadError(
      `${outline.fileName}: input and states have ${valueCount} values by its metadata, expected at most ${MAX_VALUES}`,
    );
  }
}
