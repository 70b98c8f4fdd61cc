import type { OnnxGraph, Value } from './graph.ts';
import type { LinearLayers, Weights } from './weights.ts';
import { swoosh } from './zipformer2-swoosh.ts';

/** Sizes of one layer. Times are in frames of its stack. */
export interface LayerSizes {
  readonly dim: number;
  readonly feedForwardDim: number;
  readonly queryHeadDim: number;
  readonly valueHeadDim: number;
  readonly heads: number;
  readonly kernel: number;
  readonly left: number;
  readonly frames: number;
}

/** Values that the layers of a graph share. */
export interface LayerContext {
  readonly graph: OnnxGraph;
  readonly layers: LinearLayers;
  readonly weights: Weights;
  /** int64 (N): frames of this stack that came before the step. */
  readonly processed: Value;
}

/** What a part of a layer gives, and its new state. */
interface Part {
  readonly output: Value;
  readonly state: Value;
}

const POSITION_DIM = 4;

/**
 * One streaming Zipformer2 layer: attention weights over the left context, three feed-forwards, two attentions, a non-linear
 * attention and two causal convolutions, each with its state, in the shapes and close to the operators of icefall's export.
 */
export class Zipformer2Layer {
  readonly #context: LayerContext;
  readonly #graph: OnnxGraph;
  readonly #sizes: LayerSizes;
  /** New states, in the order of the inputs. */
  newStates: readonly Value[] = [];

  constructor(context: LayerContext, sizes: LayerSizes) {
    this.#context = context;
    this.#graph = context.graph;
    this.#sizes = sizes;
  }

  /**
   * @param source (frames, N, dim)
   * @param states key, non-linear attention, value 1, value 2, convolution 1, convolution 2.
   */
  apply(source: Value, states: readonly Value[]): Value {
    const [key = '', nonlin = '', value1 = '', value2 = '', conv1 = '', conv2 = ''] = states;
    const { feedForwardDim } = this.#sizes;
    const attention = this.#attentionWeights(source, key);
    let x = this.#add(source, this.#feedForward(source, (3 * feedForwardDim) / 4));
    const nonlinear = this.#nonlinearAttention(x, attention.output, nonlin);
    x = this.#add(x, nonlinear.output);
    const attention1 = this.#selfAttention(x, attention.output, value1);
    x = this.#add(x, attention1.output);
    const convolution1 = this.#convolution(x, conv1);
    x = this.#add(x, convolution1.output);
    x = this.#add(x, this.#feedForward(x, feedForwardDim));
    x = this.#bypass(source, x);
    const attention2 = this.#selfAttention(x, attention.output, value2);
    x = this.#add(x, attention2.output);
    const convolution2 = this.#convolution(x, conv2);
    x = this.#add(x, convolution2.output);
    x = this.#add(x, this.#feedForward(x, (5 * feedForwardDim) / 4));
    this.newStates = [attention, nonlinear, attention1, attention2, convolution1, convolution2].map(
      (part) => part.state,
    );
    return this.#bypass(source, this.#norm(x));
  }

  /** (heads, N, frames, left + frames) */
  #attentionWeights(x: Value, cache: Value): Part {
    const { dim, queryHeadDim, heads, left, frames } = this.#sizes;
    const { layers, weights, processed } = this.#context;
    const keyDim = queryHeadDim * heads;
    const projected = layers.linear(x, dim, 2 * keyDim + POSITION_DIM * heads);
    const [query = '', key = '', position = ''] = this.#split(projected, 2, [
      keyDim,
      keyDim,
      POSITION_DIM * heads,
    ]);
    const keys = this.#remember(cache, key, 0);
    const scores = this.#op('MatMul', [
      this.#heads(query, frames, queryHeadDim, [2, 1, 0, 3]),
      this.#heads(keys.output, left + frames, queryHeadDim, [2, 1, 3, 0]),
    ]);
    const span = left + frames;
    const positions = this.#graph.floats(weights.normals(heads * POSITION_DIM * span, 0.3), [
      heads,
      1,
      POSITION_DIM,
      span,
    ]);
    const positionScores = this.#op('MatMul', [
      this.#heads(position, frames, POSITION_DIM, [2, 1, 0, 3]),
      positions,
    ]);
    // A place in the left context counts only when a frame was there.
    const age = this.#graph.ints(Array.from({ length: span }, (_, i) => Math.max(left - 1 - i, -1)));
    const empty = this.#op('GreaterOrEqual', [age, processed]);
    const sum = this.#op('Div', [
      this.#add(scores, positionScores),
      this.#graph.float(Math.sqrt(queryHeadDim)),
    ]);
    const masked = this.#op('Where', [empty, this.#graph.float(-1000), sum]);
    return { output: this.#op('Softmax', [masked], { axis: -1 }), state: keys.state };
  }

  #feedForward(x: Value, hidden: number): Value {
    const { dim } = this.#sizes;
    const { layers } = this.#context;
    return layers.linear(swoosh(this.#graph, layers.linear(x, dim, hidden), 4, 0.035), hidden, dim);
  }

  #nonlinearAttention(x: Value, attention: Value, cache: Value): Part {
    const { dim } = this.#sizes;
    const { layers } = this.#context;
    const hidden = (3 * dim) / 4;
    const [gate = '', inner = '', scale = ''] = this.#split(layers.linear(x, dim, 3 * hidden), 2, [
      hidden,
      hidden,
      hidden,
    ]);
    const gated = this.#op('Mul', [inner, this.#op('Tanh', [gate])]);
    // (frames, N, hidden) to (1, N, frames, hidden)
    const rows = this.#op('Unsqueeze', [
      this.#op('Transpose', [gated], { perm: [1, 0, 2] }),
      this.#graph.ints([0]),
    ]);
    const all = this.#remember(cache, rows, 2);
    const mixed = this.#op('MatMul', [this.#slice(attention, 0, 0, 1), all.output]);
    const back = this.#op('Transpose', [this.#op('Squeeze', [mixed, this.#graph.ints([0])])], {
      perm: [1, 0, 2],
    });
    return { output: layers.linear(this.#op('Mul', [back, scale]), hidden, dim), state: all.state };
  }

  #selfAttention(x: Value, attention: Value, cache: Value): Part {
    const { dim, valueHeadDim, heads, left, frames } = this.#sizes;
    const { layers } = this.#context;
    const all = this.#remember(cache, layers.linear(x, dim, valueHeadDim * heads), 0);
    const mixed = this.#op('MatMul', [
      attention,
      this.#heads(all.output, left + frames, valueHeadDim, [2, 1, 0, 3]),
    ]);
    const ordered = this.#op('Transpose', [mixed], { perm: [2, 1, 0, 3] });
    const joined = this.#reshape(ordered, ordered, [frames, 'N', valueHeadDim * heads]);
    return { output: layers.linear(joined, valueHeadDim * heads, dim), state: all.state };
  }

  #convolution(x: Value, cache: Value): Part {
    const { dim, kernel, frames } = this.#sizes;
    const { layers } = this.#context;
    const [inner = '', gate = ''] = this.#split(layers.linear(x, dim, 2 * dim), 2, [dim, dim]);
    const gated = this.#op('Mul', [inner, this.#op('Sigmoid', [gate])]);
    const channels = this.#op('Transpose', [gated], { perm: [1, 2, 0] });
    const past = Math.floor(kernel / 2);
    const all = this.#op('Concat', [cache, channels], { axis: 2 });
    const state = this.#slice(all, 2, frames, frames + past);
    const causal = this.#depthwise(all, past + 1, 0);
    const within = this.#depthwise(channels, kernel, past);
    const active = swoosh(this.#graph, this.#add(causal, within), 1, 0.313261687);
    const output = layers.linear(this.#op('Transpose', [active], { perm: [2, 0, 1] }), dim, dim);
    return { output, state };
  }

  #depthwise(x: Value, width: number, pad: number): Value {
    const { dim } = this.#sizes;
    const { layers, weights } = this.#context;
    layers.parameters += dim * (width + 1);
    const filter = this.#graph.floats(weights.normals(dim * width, 1 / Math.sqrt(width)), [dim, 1, width]);
    const bias = this.#graph.floats(weights.normals(dim, 0.1), [dim]);
    return this.#op('Conv', [x, filter, bias], { group: dim, kernel_shape: [width], pads: [pad, pad] });
  }

  /** Puts the past in front of the present; the last frames of both are the new state. */
  #remember(cache: Value, present: Value, axis: number): Part {
    const { frames, left } = this.#sizes;
    const output = this.#op('Concat', [cache, present], { axis });
    return { output, state: this.#slice(output, axis, frames, frames + left) };
  }

  /** (time, N, heads · size) to (time, N, heads, size), then permuted. */
  #heads(x: Value, time: number, size: number, perm: readonly number[]): Value {
    const split = this.#reshape(x, x, [time, 'N', this.#sizes.heads, size]);
    return this.#op('Transpose', [split], { perm });
  }

  /**
   * Exporters leave the batch size open and work it out in the graph, in front of every reshape.
   * @param like has the batch size as its dimension 1.
   */
  #reshape(x: Value, like: Value, shape: readonly (number | 'N')[]): Value {
    const graph = this.#graph;
    const batch = graph.op('Gather', [graph.op('Shape', [like]), graph.ints([1])]);
    const parts = shape.map((dimension) => (dimension === 'N' ? batch : graph.ints([dimension])));
    return graph.op('Reshape', [x, graph.op('Concat', parts, { axis: 0 })]);
  }

  #norm(x: Value): Value {
    const square = this.#op('ReduceMean', [this.#op('Mul', [x, x])], { axes: [-1], keepdims: 1 });
    return this.#op('Div', [x, this.#op('Sqrt', [this.#add(square, this.#graph.float(1e-5))])]);
  }

  #bypass(from: Value, to: Value): Value {
    const { dim } = this.#sizes;
    const scale = Float32Array.from({ length: dim }, () => 0.5 + 0.5 * this.#context.weights.uniform());
    const change = this.#op('Mul', [this.#op('Sub', [to, from]), this.#graph.floats(scale, [dim])]);
    return this.#add(from, change);
  }

  #add(a: Value, b: Value): Value {
    return this.#op('Add', [a, b]);
  }

  #split(x: Value, axis: number, sizes: readonly number[]): Value[] {
    return this.#graph.ops('Split', [x, this.#graph.ints(sizes)], sizes.length, { axis });
  }

  #slice(x: Value, axis: number, start: number, end: number): Value {
    const { graph } = this.#context;
    return this.#op('Slice', [x, graph.ints([start]), graph.ints([end]), graph.ints([axis])]);
  }

  #op(type: string, inputs: readonly Value[], attributes = {}): Value {
    return this.#graph.op(type, inputs, attributes);
  }
}
