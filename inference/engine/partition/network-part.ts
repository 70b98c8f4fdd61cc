import type { Tensor } from 'onnxruntime-node';
import { type NetworkSignature, type StateSpec, statesOf } from '../onnx/network-signature.ts';
import type { OnnxOutline } from '../onnx/onnx-reader.ts';
import type { OnnxModel } from '../onnx/onnx-session.ts';
import { type Outputs, outputNamed, type TensorSpec, zeroTensor } from '../onnx/tensors.ts';

/** A graph, or a part of one, that is loaded. */
export interface NetworkPart {
  readonly onnx: OnnxModel;
  /** What it gets in each run: the features, and what parts before it gave. */
  readonly takes: readonly string[];
  /** What it gives to parts behind it. */
  readonly gives: readonly string[];
  readonly states: readonly StateSpec[];
}

/** A network in the form in which it is run. */
export interface LoadedNetwork {
  readonly parts: readonly NetworkPart[];
  /** The part whose output 0 is the result. */
  readonly result: OnnxModel;
  /** The features of one step. */
  readonly input: TensorSpec;
  /** Whether a run takes any number of steps. They lie one behind the other, in a dimension in front of those of `input`. */
  readonly takesSeveralSteps: boolean;
}

/** The graph as one part. */
export function wholeNetwork(
  onnx: OnnxModel,
  outline: OnnxOutline,
  signature: NetworkSignature,
): LoadedNetwork {
  const states = statesOf(outline, signature);
  const { input } = signature;
  const part = { onnx, takes: [input.name], gives: [], states };
  return { parts: [part], result: onnx, input, takesSeveralSteps: false };
}

/** What crosses from part to part in one run of each, by name. */
export type StepValues = Map<string, Tensor>;

/** A part and its states in one recording. The states start at zero, and go from each run to the next without a copy. */
export class PartRun {
  readonly part: NetworkPart;
  readonly #feeds: Record<string, Tensor> = {};

  constructor(part: NetworkPart) {
    this.part = part;
    for (const { spec } of part.states) this.#feeds[spec.name] = zeroTensor(spec);
  }

  /**
   * Takes from `values`, and adds what it gives.
   * @returns all outputs.
   * @throws InferenceError when the run fails.
   */
  async step(values: StepValues): Promise<Outputs> {
    const { onnx, takes, gives, states } = this.part;
    for (const name of takes) {
      const value = values.get(name);
      if (value !== undefined) this.#feeds[name] = value;
    }
    const outputs = await onnx.run(this.#feeds);
    for (const { spec, next } of states) this.#feeds[spec.name] = outputNamed(onnx, outputs, next);
    for (const name of gives) values.set(name, outputNamed(onnx, outputs, name));
    return outputs;
  }
}
