import { Tensor } from 'onnxruntime-node';
import { elementCount, rowsOf } from '../onnx/tensors.ts';
import { type LoadedNetwork, PartRun, type StepValues } from './network-part.ts';

/** A network in parts, and the states of one recording. */
export class StatefulNetwork {
  readonly #network: LoadedNetwork;
  readonly #parts: readonly PartRun[];
  /** Of each part, what parts behind it take. */
  readonly #wanted: readonly ReadonlySet<string>[];
  readonly #rowSize: number;

  /** @param rowSize last dimension of the result. */
  constructor(network: LoadedNetwork, rowSize: number) {
    const { parts } = network;
    this.#network = network;
    this.#parts = parts.map((part) => new PartRun(part));
    this.#wanted = parts.map((_, i) => new Set(parts.slice(i + 1).flatMap(({ takes }) => takes)));
    this.#rowSize = rowSize;
  }

  /**
   * Runs the next steps, part by part if it can. Then the weights of a part stay in the processor's cache
   * from one step to the next (as in Sung and Park, "Single stream parallelization of recurrent neural
   * networks for low power and fast inference", 2018).
   * @param input the features of all steps, one behind the other.
   * @param signal aborts between two runs.
   * @returns of each step output 0, rows of `rowSize` values.
   * @throws InferenceError when a run fails, or gives rows of another size; the signal's reason. The states are undefined then.
   */
  async run(input: Float32Array, signal: AbortSignal): Promise<Float32Array[]> {
    const { input: step, takesSeveralSteps } = this.#network;
    const stepCount = input.length / elementCount(step);
    if (takesSeveralSteps) {
      const rows = await this.#runParts(new Tensor('float32', input, [stepCount, ...step.shape]), signal);
      return split(rows, stepCount);
    }
    const results: Float32Array[] = [];
    for (const values of split(input, stepCount))
      results.push(await this.#runParts(new Tensor('float32', values, step.shape), signal));
    return results;
  }

  async #runParts(input: Tensor, signal: AbortSignal): Promise<Float32Array> {
    const values: StepValues = new Map([[this.#network.input.name, input]]);
    const { result } = this.#network;
    let rows: Float32Array | undefined;
    for (const [i, run] of this.#parts.entries()) {
      signal.throwIfAborted();
      const outputs = await run.step(values);
      if (run.part.onnx === result) rows = rowsOf(result, outputs, this.#rowSize);
      for (const value of values.keys()) if (!this.#wanted[i]?.has(value)) values.delete(value);
    }
    if (rows === undefined) throw new Error('no part gives the result');
    return rows;
  }
}

/** Equal parts of it, as views. */
function split(values: Float32Array, count: number): Float32Array[] {
  const size = values.length / count;
  return Array.from({ length: count }, (_, i) => values.subarray(i * size, (i + 1) * size));
}
