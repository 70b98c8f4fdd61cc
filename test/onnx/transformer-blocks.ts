import type { OnnxGraph, Value } from './graph.ts';
import { LinearLayers, type Weights } from './weights.ts';

export interface TransformerSizes {
  readonly width: number;
  readonly heads: number;
  readonly layers: number;
  readonly vocabularySize: number;
  /** Twice the width without it. */
  readonly feedForwardDim?: number;
}

/** The parts of a transformer, norm first. x is (N, positions, width). */
export class TransformerBlocks {
  readonly #graph: OnnxGraph;
  readonly #weights: Weights;
  readonly #products: LinearLayers;
  readonly #sizes: TransformerSizes;

  constructor(graph: OnnxGraph, weights: Weights, sizes: TransformerSizes, int8: boolean) {
    this.#graph = graph;
    this.#weights = weights;
    this.#products = new LinearLayers(graph, weights, int8);
    this.#sizes = sizes;
  }

  /** Weights of products so far. */
  get parameters(): number {
    return this.#products.parameters;
  }

  linear(x: Value, gain = 1): Value {
    return this.project(x, this.#sizes.width, this.#sizes.width, gain);
  }

  project(x: Value, from: number, to: number, gain = 1): Value {
    return this.#products.linear(x, from, to, gain);
  }

  scores(x: Value): Value {
    return this.#products.product(x, this.#sizes.width, this.#sizes.vocabularySize, 4);
  }

  /** x and what its positions see: keys and values (N or 1, seen positions, width). */
  attention(x: Value, from: Value, keys: Value, values: Value, mask?: Value): Value {
    const queries = this.#op('Mul', [this.linear(from, 2), this.#graph.float(1 / Math.sqrt(this.#headSize))]);
    const match = this.#op('MatMul', [this.heads(queries, [0, 2, 1, 3]), this.heads(keys, [0, 2, 3, 1])]);
    const weights = this.#op('Softmax', [mask === undefined ? match : this.add(match, mask)], { axis: -1 });
    const seen = this.#op('MatMul', [weights, this.heads(values, [0, 2, 1, 3])]);
    return this.add(x, this.linear(this.joined(seen, [0, 2, 1, 3])));
  }

  feedForward(x: Value): Value {
    const { width, feedForwardDim = 2 * width } = this.#sizes;
    const hidden = this.gelu(this.project(this.norm(x), width, feedForwardDim, 2));
    return this.add(x, this.project(hidden, feedForwardDim, width));
  }

  norm(x: Value): Value {
    const { width } = this.#sizes;
    const scale = this.#graph.floats(new Float32Array(width).fill(1), [width]);
    const bias = this.#graph.floats(this.#weights.normals(width, 0.1), [width]);
    return this.#op('LayerNormalization', [x, scale, bias], { axis: -1, epsilon: { float: 1e-5 } });
  }

  gelu(x: Value): Value {
    const half = this.#op('Mul', [x, this.#graph.float(0.5)]);
    const error = this.#op('Erf', [this.#op('Mul', [x, this.#graph.float(Math.SQRT1_2)])]);
    return this.#op('Mul', [half, this.add(error, this.#graph.float(1))]);
  }

  /** Rows `start` to `end` of a table of positions. */
  positions(count: number, deviation: number, start: Value, end: Value): Value {
    const { width } = this.#sizes;
    const table = this.#graph.floats(this.#weights.normals(count * width, deviation), [count, width]);
    return this.slice(table, 0, start, end);
  }

  slice(x: Value, axis: number, start: Value, end: Value): Value {
    return this.#op('Slice', [x, start, end, this.#graph.ints([axis])]);
  }

  /** int64 [1]. */
  sizeOf(x: Value, axis: number): Value {
    return this.slice(this.#op('Shape', [x]), 0, this.#graph.ints([axis]), this.#graph.ints([axis + 1]));
  }

  /** (N, positions, width) → (1, N, positions, width). */
  stacked(x: Value): Value {
    return this.#op('Unsqueeze', [x, this.#graph.ints([0])]);
  }

  /** (layers, N, positions, width) → one (N, positions, width) a layer. */
  layers(x: Value): Value[] {
    return Array.from({ length: this.#sizes.layers }, (_, layer) =>
      this.#op('Squeeze', [
        this.slice(x, 0, this.#graph.ints([layer]), this.#graph.ints([layer + 1])),
        this.#graph.ints([0]),
      ]),
    );
  }

  add(a: Value, b: Value): Value {
    return this.#op('Add', [a, b]);
  }

  /** (N, positions, width) → N, heads, positions and a head's values, in the order of `perm`. */
  heads(x: Value, perm: readonly number[]): Value {
    const split = this.#op('Reshape', [x, this.#graph.ints([0, -1, this.#sizes.heads, this.#headSize])]);
    return this.#op('Transpose', [split], { perm });
  }

  /** Heads → (N, positions, width). */
  joined(x: Value, perm: readonly number[]): Value {
    const apart = this.#op('Transpose', [x], { perm });
    return this.#op('Reshape', [apart, this.#graph.ints([0, 0, this.#sizes.width])]);
  }

  get #headSize(): number {
    return this.#sizes.width / this.#sizes.heads;
  }

  #op(type: string, inputs: readonly Value[], attributes: Parameters<OnnxGraph['op']>[2] = {}): Value {
    return this.#graph.op(type, inputs, attributes);
  }
}
