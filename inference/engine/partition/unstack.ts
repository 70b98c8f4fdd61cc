import type { FileHandle } from 'node:fs/promises';
import { Tensor } from 'onnxruntime-node';
import type { StateSpec } from '../onnx/network-signature.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from '../onnx/onnx-session.ts';
import { elementCount, outputNamed, type TensorSpec } from '../onnx/tensors.ts';
import type { GraphFile, GraphNode } from '../onnx/graph-file.ts';
import { readGraphPart } from './graph-part-file.ts';
import { findStackedStates, type StackedStates } from './stacked-states.ts';

/** A graph, and what it keeps from step to step. */
export interface StatefulGraph {
  readonly graph: GraphFile;
  readonly states: readonly StateSpec[];
}

/**
 * Separates the states that a graph stacks in one tensor: one state for all layers would forbid every cut between them.
 * A trial shows whether what puts them together does the opposite of what takes them apart.
 * @returns the graph without the nodes that did that. If there are none, the graph as it was.
 * @throws ModelLoadError or InferenceError when the runtime does not take these nodes alone.
 */
export async function unstack(
  file: FileHandle,
  fileName: string,
  whole: StatefulGraph,
  options: SessionOptions,
): Promise<StatefulGraph> {
  let { graph } = whole;
  const states: StateSpec[] = [];
  for (const state of whole.states) {
    const { spec, next } = state;
    const stacked = spec.type === 'float32' ? findStackedStates(graph, spec.name, next) : undefined;
    const pieces = stacked && (await new Trial(file, fileName, graph, options).piecesOf(spec, next, stacked));
    if (stacked === undefined || pieces === undefined) {
      states.push(state);
      continue;
    }
    const gone = new Set([...stacked.apart, ...stacked.together]);
    graph = { ...graph, nodes: graph.nodes.filter((node) => !gone.has(node)) };
    states.push(...pieces.map((piece, i) => ({ spec: piece, next: stacked.nextPieces[i] ?? '' })));
  }
  return { graph, states };
}

class Trial {
  readonly #file: FileHandle;
  readonly #fileName: string;
  readonly #graph: GraphFile;
  readonly #options: SessionOptions;

  constructor(file: FileHandle, fileName: string, graph: GraphFile, options: SessionOptions) {
    this.#file = file;
    this.#fileName = fileName;
    this.#graph = graph;
    this.#options = options;
  }

  /** @returns undefined when the state does not come back as it was. */
  async piecesOf(spec: TensorSpec, next: string, stacked: StackedStates): Promise<TensorSpec[] | undefined> {
    const { apart, pieces, together, nextPieces } = stacked;
    const numbers = Float32Array.from(
      { length: elementCount(spec) },
      (_, i) => (i % 2 === 0 ? 1 : -1) * (i / 3 + 1),
    );
    const state = new Tensor('float32', numbers, spec.shape);
    const found = await this.#run(apart, new Map([[spec.name, state]]), pieces);
    const specs = pieces.map((name, i) => ({ name, type: 'float32', shape: found[i]?.dims ?? [] }) as const);
    const count = specs.reduce((sum, piece) => sum + elementCount(piece), 0);
    if (count !== numbers.length || found.some(({ type }) => type !== 'float32')) return undefined;
    const [back] = await this.#run(together, new Map(found.map((piece, i) => [nextPieces[i] ?? '', piece])), [
      next,
    ]);
    const isSame =
      back?.data.length === numbers.length && numbers.every((number, i) => number === back.data[i]);
    return isSame ? specs : undefined;
  }

  async #run(
    nodes: readonly GraphNode[],
    feeds: ReadonlyMap<string, Tensor>,
    gives: readonly string[],
  ): Promise<Tensor[]> {
    const onnx = await this.#load(nodes, feeds, gives);
    try {
      const outputs = await onnx.run(Object.fromEntries(feeds));
      return gives.map((name) => outputNamed(onnx, outputs, name));
    } finally {
      await onnx.release();
    }
  }

  async #load(
    nodes: readonly GraphNode[],
    feeds: ReadonlyMap<string, Tensor>,
    gives: readonly string[],
  ): Promise<OnnxModel> {
    const read = new Set(nodes.flatMap(({ inputs }) => inputs));
    const isNeeded = (node: GraphNode): boolean =>
      nodes.includes(node) || (node.inputs.length === 0 && node.outputs.some((output) => read.has(output)));
    const takes = new Map([...feeds].map(([name, { type, dims }]) => [name, { element: type, shape: dims }]));
    const part = {
      nodes: this.#graph.nodes.filter(isNeeded),
      reads: [...read].filter((name) => this.#graph.weights.has(name)),
      takes,
      gives,
    };
    const bytes = await readGraphPart(this.#file, this.#graph, part);
    return loadOnnxModel({ fileName: this.#fileName, bytes }, this.#options);
  }
}
