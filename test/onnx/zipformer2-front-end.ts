import type { OnnxGraph, Value } from './graph.ts';
import type { LinearLayers, Weights } from './weights.ts';
import { BINS, EMBED, windowFrames, type Zipformer2Options } from './zipformer2-options.ts';
import { swoosh } from './zipformer2-swoosh.ts';

interface FrontEndContext {
  readonly graph: OnnxGraph;
  readonly layers: LinearLayers;
  readonly weights: Weights;
}

/** What stands in front of the first stack: from the window's frames to half as many of the first stack's size. */
export class Zipformer2FrontEnd {
  readonly #graph: OnnxGraph;
  readonly #layers: LinearLayers;
  readonly #weights: Weights;
  readonly #options: Zipformer2Options;
  readonly #frames: number;

  constructor({ graph, layers, weights }: FrontEndContext, options: Zipformer2Options) {
    this.#graph = graph;
    this.#layers = layers;
    this.#weights = weights;
    this.#options = options;
    this.#frames = options.chunkFrames / 2;
  }

  /**
   * @param x (N, window, 80)
   * @param state (N, 128, 3, 19)
   * @returns (N, frames, dim) and the new state.
   */
  apply(x: Value, state: Value): { output: Value; state: Value } {
    const { frontEnd, sizes } = this.#options;
    const dim = sizes.dims[0] ?? 0;
    const read = this.#readFeatures(x);
    switch (frontEnd) {
      case 'mixing':
        return this.#mix(read, state, dim);
      case 'convolutions':
        return this.#convolve(read, state, dim);
      default:
        return frontEnd satisfies never;
    }
  }

  #readFeatures(x: Value): Value {
    const graph = this.#graph;
    const { reads, features } = this.#options;
    if (reads === 'loud or not')
      return graph.op('Cast', [graph.op('Greater', [x, graph.float(-8)])], { to: 1 });
    const { offset, scale } = features === 'kaldi' ? { offset: 6, scale: 0.25 } : { offset: 0, scale: 1.5 };
    return graph.op('Mul', [graph.op('Add', [x, graph.float(offset)]), graph.float(scale)]);
  }

  #mix(x: Value, state: Value, dim: number): { output: Value; state: Value } {
    const graph = this.#graph;
    const window = windowFrames(this.#options.chunkFrames);
    const mixing = graph.floats(this.#weights.normals(this.#frames * window, 3 / Math.sqrt(window)), [
      this.#frames,
      window,
    ]);
    const mixed = this.#layers.linear(graph.op('MatMul', [mixing, x]), BINS, dim);
    const size = EMBED.channels * EMBED.frames * EMBED.bins;
    const past = this.#layers.product(graph.op('Reshape', [state, graph.ints([-1, 1, size])]), size, dim, 2);
    const present = this.#layers.product(
      graph.op('ReduceMean', [x], { axes: [1], keepdims: 0 }),
      BINS,
      size,
      0.5,
    );
    const shaped = graph.op('Reshape', [present, graph.ints([-1, EMBED.channels, EMBED.frames, EMBED.bins])]);
    const half = graph.op('Mul', [state, graph.float(0.5)]);
    return {
      output: graph.op('Add', [mixed, past]),
      state: graph.op('Tanh', [graph.op('Add', [half, shaped])]),
    };
  }

  /** Three convolutions to a quarter of the bins and half the frames, then a ConvNeXt block with 3 frames of look-ahead. */
  #convolve(x: Value, state: Value, dim: number): { output: Value; state: Value } {
    const graph = this.#graph;
    const { channels, frames, bins } = EMBED;
    let y = graph.op('Unsqueeze', [x, graph.ints([1])]);
    y = this.#conv(y, 1, 8, { kernel_shape: [3, 3], pads: [0, 1, 0, 1] });
    y = this.#conv(y, 8, 32, { kernel_shape: [3, 3], strides: [2, 2] });
    y = this.#conv(y, 32, channels, { kernel_shape: [3, 3], strides: [1, 2] });
    const all = graph.op('Concat', [state, y], { axis: 2 });
    const slice = (value: Value, start: number, end: number): Value =>
      graph.op('Slice', [value, graph.ints([start]), graph.ints([end]), graph.ints([2])]);
    const depthwise = graph.floats(this.#weights.normals(channels * 49, 1 / 7), [channels, 1, 7, 7]);
    const wide = graph.op('Conv', [all, depthwise], {
      group: channels,
      kernel_shape: [7, 7],
      pads: [0, frames, 0, frames],
    });
    const block = this.#conv(this.#conv(wide, channels, 384, { kernel_shape: [1, 1] }), 384, channels, {
      kernel_shape: [1, 1],
    });
    const sum = graph.op('Add', [slice(y, 0, this.#frames), block]);
    const rows = graph.op('Reshape', [
      graph.op('Transpose', [sum], { perm: [0, 2, 1, 3] }),
      graph.ints([0, 0, channels * bins]),
    ]);
    return {
      output: this.#layers.linear(rows, channels * bins, dim),
      state: slice(all, this.#frames, this.#frames + frames),
    };
  }

  #conv(
    x: Value,
    from: number,
    to: number,
    attributes: { kernel_shape: [number, number] } & Record<string, number[]>,
  ): Value {
    const [height, width] = attributes.kernel_shape;
    const size = from * height * width;
    this.#layers.parameters += to * size;
    const filter = this.#graph.floats(this.#weights.normals(to * size, 1 / Math.sqrt(size)), [
      to,
      from,
      height,
      width,
    ]);
    return swoosh(this.#graph, this.#graph.op('Conv', [x, filter], attributes), 1, 0.313261687);
  }
}
