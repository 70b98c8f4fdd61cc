import { Tensor } from 'onnxruntime-node';
import { type NetworkPart, PartRun } from './network-part.ts';
import type { OnnxModel } from './onnx-session.ts';
import { rowsOf, type TensorSpec } from './tensors.ts';

/** A network in parts, and the states of one recording. */
export class StatefulNetwork {
  readonly #parts: readonly PartRun[];
  readonly #result: OnnxModel;
  readonly #input: TensorSpec;
  readonly #rowSize: number;

  /**
   * @param result the part that gives the result, as its output 0.
   * @param rowSize last dimension of that output.
   */
  constructor(parts: readonly NetworkPart[], result: OnnxModel, input: TensorSpec, rowSize: number) {
    this.#parts = parts.map((part) => new PartRun(part));
    this.#result = result;
    this.#input = input;
    this.#rowSize = rowSize;
  }

  /**
   * Runs the next steps, part by part: the weights of a part stay in the processor's cache from one step to the next (as in Sung and
   * Park, "Single stream parallelization of recurrent neural networks for low power and fast inference", 2018).
   * @param inputs a tensor's values for each step.
   * @param signal aborts between two runs.
   * @returns of each step output 0, rows of `rowSize` values.
   * @throws InferenceError when a run fails, or gives rows of another size; the signal's reason. The states are undefined then.
   */
  async run(inputs: readonly Float32Array[], signal: AbortSignal): Promise<Float32Array[]> {
    const { name, shape } = this.#input;
    const steps = inputs.map((input) => new Map([[name, new Tensor('float32', input, shape)]]));
    const results: Float32Array[] = [];
    for (const [i, run] of this.#parts.entries()) {
      const wanted = new Set(this.#parts.slice(i + 1).flatMap(({ part }) => part.takes));
      for (const step of steps) {
        signal.throwIfAborted();
        const outputs = await run.step(step);
        if (run.part.onnx === this.#result) results.push(rowsOf(this.#result, outputs, this.#rowSize));
        for (const value of step.keys()) if (!wanted.has(value)) step.delete(value);
      }
    }
    return results;
  }
}
