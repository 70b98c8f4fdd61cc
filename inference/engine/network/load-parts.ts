import { type FileHandle, open } from 'node:fs/promises';
import { type GraphFile, readGraphFile } from '../files/graph-file.ts';
import { readGraphPart, type TensorType } from '../files/graph-part-file.ts';
import type { OnnxOutline } from '../files/onnx-outline.ts';
import { cutGraph, type GraphPart } from './graph-parts.ts';
import { type NetworkPart, PartRun, type StepValues } from './network-part.ts';
import { type NetworkSignature, type StateSpec, statesOf } from './network-signature.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions, usesOnlyCpu } from './onnx-session.ts';
import { outputNamed, zeroTensor } from './tensors.ts';
import { unstack } from './unstack.ts';

/**
 * Values of weights: few enough to stay in the cache of a processor, beside what runs with them, from one step to the next, and so many that
 * what a run costs by itself does not count. By measurement: half or twice of it took from 5 % less to 16 % more time.
 */
const PART_VALUES = 2_000_000;

export interface DividedNetwork {
  readonly parts: readonly NetworkPart[];
  /** The part whose output 0 is the result. */
  readonly result: OnnxModel;
}

/**
 * Loads a large graph in parts, which is faster on a processor when several steps are run together.
 * @returns undefined for what is better loaded as it is: a small file, one for another execution provider, one that cannot be divided.
 * Where a file is at fault, loading it as it is says so.
 */
export async function loadParts(
  outline: OnnxOutline,
  signature: NetworkSignature,
  options: SessionOptions,
): Promise<DividedNetwork | undefined> {
  if (!usesOnlyCpu(options)) return undefined;
  // One handle for all parts: whoever renames another file into its place does not get a mixture.
  const file = await open(outline.path);
  const loader = new PartsLoader(file, outline, signature, options);
  try {
    return await loader.load();
  } catch {
    await loader.release();
    return undefined;
  } finally {
    await file.close();
  }
}

class PartsLoader {
  readonly #file: FileHandle;
  readonly #outline: OnnxOutline;
  readonly #signature: NetworkSignature;
  readonly #options: SessionOptions;
  readonly #parts: NetworkPart[] = [];
  readonly #types = new Map<string, TensorType>();

  constructor(file: FileHandle, outline: OnnxOutline, signature: NetworkSignature, options: SessionOptions) {
    this.#file = file;
    this.#outline = outline;
    this.#signature = signature;
    this.#options = options;
  }

  async load(): Promise<DividedNetwork | undefined> {
    const partValues = this.#options.partValues ?? PART_VALUES;
    const { input } = this.#signature;
    const result = this.#outline.outputs[0]?.name ?? '';
    const { fileName } = this.#outline;
    const file = await readGraphFile(this.#file, fileName);
    if (file === undefined) return undefined;
    const whole = { graph: file, states: statesOf(this.#outline, this.#signature) };
    const { graph, states } = await unstack(this.#file, fileName, whole, this.#options);
    const nextStates = new Map(states.map(({ spec, next }) => [spec.name, next]));
    const counters = new Set(states.filter(({ spec }) => spec.type === 'int64').map(({ spec }) => spec.name));
    const cut = cutGraph(graph, { input: input.name, result, nextStates, counters, partValues });
    if (cut.length < 2) return undefined;
    this.#types.set(input.name, { element: input.type, rank: input.shape.length });
    for (const part of cut) await this.#loadPart(graph, part, states);
    await this.#try();
    const giver = this.#parts.find(({ onnx }) => onnx.outputNames[0] === result);
    if (giver === undefined) throw new Error(`no part gives ${result}`);
    return { parts: this.#parts, result: giver.onnx };
  }

  async release(): Promise<void> {
    await Promise.all(this.#parts.splice(0).map(({ onnx }) => onnx.release()));
  }

  async #loadPart(graph: GraphFile, part: GraphPart, allStates: readonly StateSpec[]): Promise<void> {
    const { fileName } = this.#outline;
    const states = allStates.filter(({ spec }) => part.reads.has(spec.name));
    // The graph declares no inputs for states that it stacks in another one.
    const pieces = states.map(({ spec }) => spec).filter(({ name }) => !graph.inputs.has(name));
    for (const { name, type, shape } of pieces) this.#types.set(name, { element: type, rank: shape.length });
    const taken = [...part.takes, ...pieces.map(({ name }) => name)];
    const takes = new Map(taken.map((name) => [name, this.#typeOf(name)]));
    const outputs = [...part.gives, ...states.map(({ next }) => next)];
    const contents = { nodes: part.nodes, reads: part.reads, takes, gives: outputs };
    const bytes = await readGraphPart(this.#file, graph, contents);
    const onnx = await loadOnnxModel({ fileName, bytes }, this.#options);
    const constants = Object.entries(this.#signature.constants).filter(([name]) => part.reads.has(name));
    this.#parts.push({
      onnx,
      takes: part.takes,
      gives: part.gives,
      constants: Object.fromEntries(constants),
      states,
    });
    for (const name of part.gives) {
      const type = onnx.outputType(name);
      if (type !== undefined) this.#types.set(name, type);
    }
  }

  #typeOf(name: string): TensorType {
    const type = this.#types.get(name);
    if (type === undefined) throw new Error(`${name} is no tensor`);
    return type;
  }

  /** A step on zeros: what cannot be run, or would go on with states of another shape, is not loaded. */
  async #try(): Promise<void> {
    const values: StepValues = new Map([[this.#signature.input.name, zeroTensor(this.#signature.input)]]);
    for (const part of this.#parts) {
      const outputs = await new PartRun(part).step(values);
      for (const { spec, next } of part.states) {
        const { dims } = outputNamed(part.onnx, outputs, next);
        if (dims.join() !== spec.shape.join()) throw new Error(`${next} is no next ${spec.name}`);
      }
    }
  }
}
