import { ModelLoadError } from '../../recognizer.ts';
import type { OnnxOutline } from './onnx-reader.ts';
import { checkInputs, elementCount, type TensorSpec } from './tensors.ts';

/** What goes into a network that is run step by step, and what comes out. */
export interface NetworkSignature {
  /** The features' tensor. */
  readonly input: TensorSpec;
  /** Inputs that carry a recording's past. Output 0 is the result; each output behind it replaces a state. */
  readonly states: readonly TensorSpec[];
}

/** A state, and the output that replaces it. */
export interface StateSpec {
  readonly spec: TensorSpec;
  readonly next: string;
}

export function statesOf(outline: OnnxOutline, { states }: NetworkSignature): StateSpec[] {
  return states.map((spec, i) => ({ spec, next: outline.outputs[i + 1]?.name ?? '' }));
}

/**
 * The most values that a step's input and states may have together: 256 MiB as float32. icefall's Zipformer
 * of 66 M parameters has half a million.
 */
const MAX_VALUES = 64 * 2 ** 20;

/**
 * @throws ModelLoadError when the file has other inputs, other outputs than a result and one for each state,
 * or states that no recording could have memory for.
 */
export function checkSignature(outline: OnnxOutline, { input, states }: NetworkSignature): void {
  const inputs = [input, ...states];
  checkInputs(outline, inputs);
  const expected = 1 + states.length;
  if (outline.outputs.length !== expected) {
    throw new ModelLoadError(
      `${outline.fileName}: found ${outline.outputs.length} outputs, expected ${expected}: one for each of ${states.length} states`,
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
