import type { GraphNode } from '../onnx/graph-messages.ts';
import type { GraphFile } from '../onnx/onnx-reader.ts';
import { chooseBounds } from './part-bounds.ts';

/** A part of a graph. Run one after the other, the parts do what the graph does. */
export interface GraphPart {
  /** In an order in which they can run. */
  readonly nodes: readonly GraphNode[];
  /** Names of the weights, constants and states that it reads. The states' next values are made in it, too. */
  readonly reads: ReadonlySet<string>;
  /** What it gets from the parts before it, or from the caller. */
  readonly takes: readonly string[];
  /** What parts behind it get from it. If it makes the graph's result, that comes first. */
  readonly gives: readonly string[];
}

export interface CutOptions {
  /** The features. */
  readonly input: string;
  /** The output that the caller wants. */
  readonly result: string;
  /** From each state's input to the output that is its value in the next step. */
  readonly nextStates: ReadonlyMap<string, string>;
  /** Those of `nextStates` that count steps or frames. */
  readonly counters: ReadonlySet<string>;
  /** How many values of weights a part is to have. It has at least half of this. */
  readonly partValues: number;
}

/**
 * Cuts a graph into parts that each keep states of their own. So a part can run for several steps before the
 * next part runs for the same steps. A state that two parts would have to share forbids a cut between them.
 * What follows from counters and constants alone (masks, positions, weights in another form) is done in each
 * part that needs it.
 * @returns fewer than two parts when there is no place to cut.
 */
export function cutGraph(graph: GraphFile, options: CutOptions): GraphPart[] {
  return new GraphCutter(graph, options).cut();
}

class GraphCutter {
  readonly #graph: GraphFile;
  readonly #options: CutOptions;
  readonly #producers = new Map<string, GraphNode>();
  /** Nodes whose values depend on the data (features and states), with their place in the order of cutting. */
  readonly #places = new Map<GraphNode, number>();
  #placeCount = 0;

  constructor(graph: GraphFile, options: CutOptions) {
    this.#graph = graph;
    this.#options = options;
    for (const node of graph.nodes) for (const output of node.outputs) this.#producers.set(output, node);
  }

  cut(): GraphPart[] {
    const { nextStates, result } = this.#options;
    this.#place(this.#dataDependentNodes());
    if (this.#placeOf(result) === undefined) return [];
    if (![...nextStates.values()].every((next) => this.#producers.has(next))) return [];
    const bounds = [0, ...this.#bounds(), this.#placeCount];
    return bounds.slice(1).map((end, i) => this.#part(bounds[i] ?? 0, end));
  }

  /** Nodes whose values depend on the data. A counter whose next value does so is no counter. */
  #dataDependentNodes(): Set<GraphNode> {
    const { input, nextStates, counters } = this.#options;
    const dataDependent = new Set([input, ...[...nextStates.keys()].filter((state) => !counters.has(state))]);
    for (;;) {
      const nodes = new Set<GraphNode>();
      const values = new Set(dataDependent);
      for (const node of this.#graph.nodes) {
        if (!node.inputs.some((value) => values.has(value))) continue;
        nodes.add(node);
        for (const output of node.outputs) values.add(output);
      }
      const wrong = [...nextStates].filter(([state, next]) => values.has(next) && !dataDependent.has(state));
      if (wrong.length === 0) return nodes;
      for (const [state] of wrong) dataDependent.add(state);
    }
  }

  /**
   * Places nodes in the file's order. But a node that no other one reads, such as one that names a next
   * state, goes where its input comes from.
   */
  #place(nodes: ReadonlySet<GraphNode>): void {
    const read = new Set([this.#options.result, ...this.#graph.nodes.flatMap(({ inputs }) => inputs)]);
    for (const node of this.#graph.nodes) {
      if (!nodes.has(node)) continue;
      const from = node.inputs.flatMap((value) => this.#placeOf(value) ?? []);
      const isLast = !node.outputs.some((output) => read.has(output));
      this.#places.set(node, isLast && from.length > 0 ? Math.max(...from) : this.#placeCount++);
    }
  }

  /** Where a value is made, undefined for one that no part has to get from another one. */
  #placeOf(value: string): number | undefined {
    const producer = this.#producers.get(value);
    return producer === undefined ? undefined : this.#places.get(producer);
  }

  /** For each place, how many values a cut in front of it would have to hand over. Infinite if it would divide a state. */
  #crossings(): number[] {
    const { nextStates, input } = this.#options;
    const changes = new Array<number>(this.#placeCount + 1).fill(0);
    const forbidden = new Array<number>(this.#placeCount + 1).fill(0);
    const add = (to: number[], from: number, until: number): void => {
      to[from + 1] = (to[from + 1] ?? 0) + 1;
      to[until + 1] = (to[until + 1] ?? 0) - 1;
    };
    const readers = this.#readersByValue();
    for (const node of this.#places.keys()) {
      for (const value of node.outputs) {
        const last = Math.max(...(readers.get(value) ?? []));
        const made = this.#placeOf(value) ?? 0;
        if (last > made) add(changes, made, last);
      }
    }
    const lastOfInput = Math.max(...(readers.get(input) ?? []));
    if (lastOfInput > 0) add(changes, 0, lastOfInput);
    for (const [state, next] of nextStates) {
      const made = this.#placeOf(next);
      if (made === undefined) continue;
      const uses = [made, ...(readers.get(state) ?? [])];
      add(forbidden, Math.min(...uses), Math.max(...uses));
    }
    let crossing = 0;
    let divided = 0;
    return changes.map((change, place) => {
      crossing += change;
      divided += forbidden[place] ?? 0;
      return divided > 0 ? Number.POSITIVE_INFINITY : crossing;
    });
  }

  #readersByValue(): Map<string, number[]> {
    const readers = new Map<string, number[]>();
    for (const [node, place] of this.#places) {
      for (const value of node.inputs) readers.set(value, [...(readers.get(value) ?? []), place]);
    }
    return readers;
  }

  #bounds(): number[] {
    return chooseBounds(this.#weightsByPlace(), this.#crossings(), this.#options.partValues);
  }

  #weightsByPlace(): number[] {
    const weights = new Array<number>(this.#placeCount).fill(0);
    const counted = new Set<string>();
    const countBehind = (node: GraphNode): number => {
      let count = 0;
      for (const value of node.inputs) {
        if (counted.has(value)) continue;
        counted.add(value);
        count += this.#graph.weights.get(value)?.valueCount ?? 0;
        const producer = this.#producers.get(value);
        if (producer !== undefined && !this.#places.has(producer)) count += countBehind(producer);
      }
      return count;
    };
    for (const [node, place] of this.#places) weights[place] = (weights[place] ?? 0) + countBehind(node);
    return weights;
  }

  #part(start: number, end: number): GraphPart {
    const { input, result, nextStates } = this.#options;
    const isInside = (place: number): boolean => place >= start && place < end;
    const nodes = new Set([...this.#places].filter(([, place]) => isInside(place)).map(([node]) => node));
    const takes = new Set<string>();
    const reads = new Set<string>();
    const gives = new Set<string>(isInside(this.#placeOf(result) ?? -1) ? [result] : []);
    const use = (value: string): void => {
      const place = this.#placeOf(value);
      if (place !== undefined) {
        if (!isInside(place)) takes.add(value);
        return;
      }
      const producer = this.#producers.get(value);
      if (producer !== undefined) {
        if (nodes.has(producer)) return;
        nodes.add(producer);
        for (const behind of producer.inputs) use(behind);
      } else if (value === input) {
        takes.add(value);
      } else if (!reads.has(value)) {
        reads.add(value);
        // Whoever reads a state keeps it up to date.
        const next = nextStates.get(value);
        if (next !== undefined) use(next);
      }
    };
    for (const node of [...nodes]) for (const value of node.inputs) use(value);
    for (const [node, place] of this.#places) {
      if (isInside(place)) continue;
      for (const value of node.inputs) if (isInside(this.#placeOf(value) ?? -1)) gives.add(value);
    }
    return {
      nodes: this.#graph.nodes.filter((node) => nodes.has(node)),
      reads,
      takes: [...takes],
      gives: [...gives],
    };
  }
}
