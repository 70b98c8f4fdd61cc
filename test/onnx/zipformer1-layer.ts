import type { OnnxGraph, Value } from './graph.ts';
import type { LinearLayers, Weights } from './weights.ts';

/** Kinds of states: frames seen, their mean, keys, values of two attentions, two convolutions. */
export const KINDS = ['len', 'avg', 'key', 'val', 'val2', 'conv1', 'conv2'] as const;
export type StateKind = (typeof KINDS)[number];
export type States = Record<StateKind, Value>;

/** Sizes of one layer. Times are in frames of its stack. */
export interface Zipformer1LayerSizes {
  readonly dim: number;
  readonly feedForwardDim: number;
  readonly attentionDim: number;
  readonly heads: number;
  readonly kernel: number;
  readonly left: number;
  readonly frames: number;
}

/** What a part of a layer gives, and its new state. */
interface Part {
  readonly output: Value;
  readonly state: Value;
}

const POSITION_DIM = 4;

/** One layer of the first streaming Zipformer: close to the operators of icefall's export. x is (frames, N, dim). */
export class Zipformer1Layer {
  readonly #graph: OnnxGraph;
  readonly #layers: LinearLayers;
  readonly #weights: Weights;
  readonly #sizes: Zipformer1LayerSizes;

  constructor(graph: OnnxGraph, layers: LinearLayers, weights: Weights, sizes: Zipformer1LayerSizes) {
    this.#graph = graph;
    this.#layers = layers;
    this.#weights = weights;
    this.#sizes = sizes;
  }

  apply(source: Value, states: States): { output: Value; states: States } {
    let x = this.#add(source, this.#feedForward(source));
    const pooled = this.#pool(x, states);
    x = this.#add(x, pooled.output);
    const attention = this.#attentionWeights(x, states.key);
    const first = this.#attend(x, attention.output, states.val);
    x = this.#add(x, first.output);
    const conv1 = this.#convolve(x, states.conv1);
    x = this.#add(x, conv1.output);
    x = this.#add(x, this.#feedForward(x));
    const second = this.#attend(x, attention.output, states.val2);
    x = this.#add(x, second.output);
    const conv2 = this.#convolve(x, states.conv2);
    x = this.#add(x, conv2.output);
    x = norm(this.#graph, this.#add(x, this.#feedForward(x)));
    const attended = { key: attention.state, val: first.state, val2: second.state };
    return {
      output: this.#op('Mul', [this.#add(source, x), this.#graph.float(0.5)]),
      states: { ...pooled.states, ...attended, conv1: conv1.state, conv2: conv2.state },
    };
  }

  #feedForward(x: Value): Value {
    const { dim, feedForwardDim } = this.#sizes;
    const hidden = doubleSwish(this.#graph, this.#layers.linear(x, dim, feedForwardDim));
    return this.#layers.linear(hidden, feedForwardDim, dim);
  }

  /** At each frame, the mean of all so far, of which `len` came before the step. */
  #pool(x: Value, { len, avg }: States): { output: Value; states: Pick<States, 'len' | 'avg'> } {
    const { dim, frames } = this.#sizes;
    const before = this.#op('Unsqueeze', [this.#op('Cast', [len], { to: 1 }), this.#graph.ints([1])]);
    const sums = this.#add(this.#op('CumSum', [x, this.#graph.ints([0])]), this.#op('Mul', [avg, before]));
    const numbers = Float32Array.from({ length: frames }, (_, i) => i + 1);
    const counts = this.#add(this.#graph.floats(numbers, [frames, 1, 1]), before);
    const means = this.#op('Div', [sums, counts]);
    const last = this.#op('Squeeze', [this.#lastOf(means, 0, 1), this.#graph.ints([0])]);
    const states = { len: this.#add(len, this.#graph.ints([frames])), avg: last };
    return { output: this.#layers.product(means, dim, dim), states };
  }

  /** (N, heads, frames, left + frames) */
  #attentionWeights(x: Value, cache: Value): Part {
    const { dim, attentionDim, heads, left, frames } = this.#sizes;
    const headDim = attentionDim / heads;
    const [query, key, position] = this.#split(
      this.#layers.linear(x, dim, 2 * attentionDim + POSITION_DIM * heads),
      [attentionDim, attentionDim, POSITION_DIM * heads],
    );
    const keys = this.#remember(cache, key ?? '', 0, left);
    const scores = this.#op('MatMul', [
      this.#heads(query ?? '', headDim, [1, 2, 0, 3]),
      this.#heads(keys.output, headDim, [1, 2, 3, 0]),
    ]);
    const places = this.#weights.normals(heads * POSITION_DIM * (left + frames), 0.3);
    const placed = this.#op('MatMul', [
      this.#heads(position ?? '', POSITION_DIM, [1, 2, 0, 3]),
      this.#graph.floats(places, [1, heads, POSITION_DIM, left + frames]),
    ]);
    const sum = this.#op('Div', [this.#add(scores, placed), this.#graph.float(Math.sqrt(headDim))]);
    return { output: this.#op('Softmax', [sum], { axis: -1 }), state: keys.state };
  }

  #attend(x: Value, weights: Value, cache: Value): Part {
    const { dim, attentionDim, heads, left, frames } = this.#sizes;
    const valueDim = attentionDim / 2;
    const all = this.#remember(cache, this.#layers.linear(x, dim, valueDim), 0, left);
    const mixed = this.#op('MatMul', [weights, this.#heads(all.output, valueDim / heads, [1, 2, 0, 3])]);
    const ordered = this.#op('Transpose', [mixed], { perm: [2, 0, 1, 3] });
    const joined = this.#op('Reshape', [ordered, this.#graph.ints([frames, -1, valueDim])]);
    return { output: this.#layers.linear(joined, valueDim, dim), state: all.state };
  }

  #convolve(x: Value, cache: Value): Part {
    const { dim, kernel } = this.#sizes;
    const [inner, gate] = this.#split(this.#layers.linear(x, dim, 2 * dim), [dim, dim]);
    const gated = this.#op('Mul', [inner ?? '', this.#op('Sigmoid', [gate ?? ''])]);
    const channels = this.#op('Transpose', [gated], { perm: [1, 2, 0] });
    const all = this.#remember(cache, channels, 2, kernel - 1);
    this.#layers.parameters += dim * kernel;
    const filter = this.#graph.floats(this.#weights.normals(dim * kernel, 1 / Math.sqrt(kernel)), [
      dim,
      1,
      kernel,
    ]);
    const mixed = this.#op('Conv', [all.output, filter], { group: dim, kernel_shape: [kernel] });
    const rows = this.#op('Transpose', [doubleSwish(this.#graph, mixed)], { perm: [2, 0, 1] });
    return { output: this.#layers.linear(rows, dim, dim), state: all.state };
  }

  /** Puts the past in front of the present; the last of both is the new state. */
  #remember(cache: Value, present: Value, axis: number, past: number): Part {
    const output = this.#op('Concat', [cache, present], { axis });
    return { output, state: this.#lastOf(output, axis, past) };
  }

  #lastOf(x: Value, axis: number, count: number): Value {
    const ends = [-count, Number.MAX_SAFE_INTEGER, axis];
    return this.#op('Slice', [x, ...ends.map((value) => this.#graph.ints([value]))]);
  }

  #split(x: Value, sizes: readonly number[]): Value[] {
    return this.#graph.ops('Split', [x, this.#graph.ints(sizes)], sizes.length, { axis: 2 });
  }

  /** (time, N, heads · size) to (time, N, heads, size), then permuted. */
  #heads(x: Value, size: number, perm: readonly number[]): Value {
    const split = this.#op('Reshape', [x, this.#graph.ints([0, -1, this.#sizes.heads, size])]);
    return this.#op('Transpose', [split], { perm });
  }

  #add(a: Value, b: Value): Value {
    return this.#op('Add', [a, b]);
  }

  #op(type: string, inputs: readonly Value[], attributes: Parameters<OnnxGraph['op']>[2] = {}): Value {
    return this.#graph.op(type, inputs, attributes);
  }
}

/** The first Zipformer's activation. */
export function doubleSwish(graph: OnnxGraph, x: Value): Value {
  return graph.op('Mul', [x, graph.op('Sigmoid', [graph.op('Sub', [x, graph.float(1)])])]);
}

export function norm(graph: OnnxGraph, x: Value): Value {
  const square = graph.op('ReduceMean', [graph.op('Mul', [x, x])], { axes: [-1], keepdims: 1 });
  return graph.op('Div', [x, graph.op('Sqrt', [graph.op('Add', [square, graph.float(0.25)])])]);
}
