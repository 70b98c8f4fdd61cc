import { Tensor } from 'onnxruntime-node';
import { ModelLoadError } from '../../recognizer.ts';
import type { OnnxOutline } from '../files/onnx-outline.ts';
import type { OnnxModel } from './onnx-session.ts';
import { checkInputs, elementCount, outputAt, rowsOf, type TensorSpec, zeroTensor } from './tensors.ts';

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

/** Of a step's input and states together: 256 MiB as float32. icefall's Zipformer of 66 M parameters has half a million. */
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
  // Metadata bounds every dimension by itself; where the graph leaves them open, nothing else bounds their product.
  const valueCount = inputs.reduce((sum, spec) => sum + elementCount(spec), 0);
  if (valueCount > MAX_VALUES) {
    throw new ModelLoadError(
      `${outline.fileName}: input and states have ${valueCount} values by its metadata, expected at most ${MAX_VALUES}`,
    );
  }
}

/** A network and the states of one recording, which start at zero and go from each run to the next without a copy. */
export class StatefulNetwork {
  /** To be filled before `run()`. */
  readonly input: Float32Array;
  readonly #onnx: OnnxModel;
  readonly #signature: NetworkSignature;
  readonly #feeds: Record<string, Tensor>;
  readonly #rowSize: number;

  /** @param rowSize last dimension of output 0. */
  constructor(onnx: OnnxModel, signature: NetworkSignature, rowSize: number) {
    this.#onnx = onnx;
    this.#signature = signature;
    this.#rowSize = rowSize;
    this.input = new Float32Array(elementCount(signature.input));
    this.#feeds = {
      [signature.input.name]: new Tensor('float32', this.input, signature.input.shape),
      ...signature.constants,
    };
    for (const state of signature.states) this.#feeds[state.name] = zeroTensor(state);
  }

  /**
   * @returns output 0, rows of `rowSize` values.
   * @throws InferenceError when the run fails, or gives rows of another size.
   */
  async run(): Promise<Float32Array> {
    const outputs = await this.#onnx.run(this.#feeds);
    const { states, firstStateOutput } = this.#signature;
    for (const [i, state] of states.entries()) {
      this.#feeds[state.name] = outputAt(this.#onnx, outputs, firstStateOutput + i);
    }
    return rowsOf(this.#onnx, outputs, this.#rowSize);
  }
}
