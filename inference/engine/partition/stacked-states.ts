import type { GraphFile, GraphNode } from '../onnx/graph-file.ts';

/** The most nodes between a state and its pieces. Exporters reshape it once or twice; what goes in a circle ends here. */
const MAX_CHAIN = 8;

/** Several states in one tensor, as in NeMo's graph: it takes them apart at its beginning and puts the next ones together at its end. */
export interface StackedStates {
  /** Nodes from the state to its pieces. */
  readonly apart: readonly GraphNode[];
  readonly pieces: readonly string[];
  /** Nodes from the next pieces to the next state. */
  readonly together: readonly GraphNode[];
  /** In the order of `pieces`. */
  readonly nextPieces: readonly string[];
}

/**
 * Finds them by the shape of the graph alone. Only a run shows whether `together` does the opposite of `apart`.
 * @returns undefined when something else reads what lies between the state and its pieces, or their numbers differ.
 */
export function findStackedStates(graph: GraphFile, state: string, next: string): StackedStates | undefined {
  const readers = new Map<string, GraphNode[]>();
  const producers = new Map<string, GraphNode>();
  for (const node of graph.nodes) {
    for (const value of new Set(node.inputs)) readers.set(value, [...(readers.get(value) ?? []), node]);
    for (const value of node.outputs) producers.set(value, node);
  }
  const apart = chainDown(state, readers);
  const together = chainUp(next, producers, readers);
  const pieces = apart.at(-1)?.outputs ?? [];
  const nextPieces = together[0]?.inputs ?? [];
  const areDistinct = new Set(nextPieces).size === nextPieces.length;
  if (pieces.length < 2 || nextPieces.length !== pieces.length || !areDistinct) return undefined;
  return { apart, pieces, together, nextPieces };
}

/** From the state to the first node with several results. */
function chainDown(state: string, readers: ReadonlyMap<string, readonly GraphNode[]>): GraphNode[] {
  const chain: GraphNode[] = [];
  let value: string | undefined = state;
  while (value !== undefined && chain.length < MAX_CHAIN) {
    const reading: readonly GraphNode[] = readers.get(value) ?? [];
    const [node] = reading;
    if (node === undefined || reading.length > 1) return [];
    chain.push(node);
    if (node.outputs.length > 1) return chain;
    value = node.outputs[0];
  }
  return [];
}

/** From the last node with several variable inputs to the next state. */
function chainUp(
  next: string,
  producers: ReadonlyMap<string, GraphNode>,
  readers: ReadonlyMap<string, readonly GraphNode[]>,
): GraphNode[] {
  const chain: GraphNode[] = [];
  let value = next;
  while (chain.length < MAX_CHAIN) {
    const node = producers.get(value);
    const wanted = chain.length === 0 ? 0 : 1;
    if (node === undefined || node.outputs.length !== 1 || (readers.get(value)?.length ?? 0) !== wanted)
      return [];
    chain.unshift(node);
    const [first, ...others] = node.inputs.filter((input) => !isConstant(input, producers));
    if (first === undefined) return [];
    if (others.length > 0) return chain;
    value = first;
  }
  return [];
}

/** A constant or a weight. An input of the graph has no producer either: it is no next value of a state. */
function isConstant(value: string, producers: ReadonlyMap<string, GraphNode>): boolean {
  const producer = producers.get(value);
  return producer === undefined || producer.inputs.length === 0;
}
