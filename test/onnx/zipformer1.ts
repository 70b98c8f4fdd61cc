import { OnnxGraph, type Shape, type Value } from './graph.ts';
import { LinearLayers, Weights } from './weights.ts';
import {
  doubleSwish,
  KINDS,
  norm,
  type StateKind,
  type States,
  Zipformer1Layer,
} from './zipformer1-layer.ts';
import { BINS } from './zipformer2-options.ts';

/** One entry for each stack of layers. */
export interface Zipformer1Sizes {
  readonly downsampling: readonly number[];
  readonly layers: readonly number[];
  readonly dims: readonly number[];
  readonly feedForwardDims: readonly number[];
  readonly attentionDims: readonly number[];
  readonly heads: readonly number[];
  readonly kernels: readonly number[];
  readonly left: readonly number[];
  /** Of the three convolutions in front of the first stack. */
  readonly channels: readonly [number, number, number];
}

export interface Zipformer1Options {
  readonly sizes: Zipformer1Sizes;
  /** Frames of 10 ms that a step moves on; even, and half of it divisible by every downsampling. */
  readonly chunkFrames: number;
  readonly int8: boolean;
  readonly seed: number;
  readonly joinerDim: number;
}

/** The window is longer than the step by what the convolutions take. */
const WINDOW_EXTRA_FRAMES = 7;
/** Bins behind the convolutions. */
const CONVOLVED_BINS = 19;

/** The encoder of a first streaming Zipformer, of random weights, in the form of icefall's export. */
export function buildZipformer1(options: Zipformer1Options): { model: Uint8Array; parameters: number } {
  return new Zipformer1Builder(options).build();
}

class Zipformer1Builder {
  readonly #graph = new OnnxGraph();
  readonly #options: Zipformer1Options;
  readonly #weights: Weights;
  readonly #layers: LinearLayers;
  readonly #frames: number;

  constructor(options: Zipformer1Options) {
    this.#options = options;
    this.#weights = new Weights(options.seed);
    this.#layers = new LinearLayers(this.#graph, this.#weights, options.int8);
    this.#frames = options.chunkFrames / 2;
  }

  build(): { model: Uint8Array; parameters: number } {
    const { sizes, chunkFrames, joinerDim } = this.#options;
    const graph = this.#graph;
    const windowFrames = chunkFrames + WINDOW_EXTRA_FRAMES;
    const x = graph.input('x', 'float32', ['N', windowFrames, BINS]);
    // Kind by kind, each over all stacks.
    const declared = KINDS.flatMap((kind) =>
      sizes.dims.map((_, stack) => ({ kind, stack, name: `cached_${kind}_${stack}` })),
    );
    for (const { kind, stack, name } of declared)
      graph.input(name, typeOf(kind), this.#stateShape(kind, stack));
    let y = this.#frontEnd(x);
    let dim = sizes.dims[0] ?? 0;
    const next: States[] = [];
    for (const stack of sizes.dims.keys()) {
      const applied = this.#stack(y, stack, dim);
      y = applied.output;
      dim = sizes.dims[stack] ?? 0;
      next.push(applied.states);
    }
    const halved = graph.op('Transpose', [this.#downsample(y, 2)], { perm: [1, 0, 2] });
    const result = this.#layers.linear(halved, dim, joinerDim, 2);
    graph.output('encoder_out', result, 'float32', ['N', this.#frames / 2, joinerDim]);
    for (const { kind, stack, name } of declared) {
      const shape = this.#stateShape(kind, stack);
      graph.output(`new_${name}`, next[stack]?.[kind] ?? '', typeOf(kind), shape);
    }
    graph.metadata({
      model_type: 'zipformer',
      version: 1,
      decode_chunk_len: chunkFrames,
      T: windowFrames,
      num_encoder_layers: sizes.layers,
      encoder_dims: sizes.dims,
      attention_dims: sizes.attentionDims,
      cnn_module_kernels: sizes.kernels,
      left_context_len: sizes.left,
    });
    return { model: graph.build(), parameters: this.#layers.parameters };
  }

  #stateShape(kind: StateKind, stack: number): Shape {
    const { sizes } = this.#options;
    const at = (values: readonly number[]): number => values[stack] ?? 0;
    const [layers, left, dim] = [at(sizes.layers), at(sizes.left), at(sizes.dims)];
    const attention = at(sizes.attentionDims);
    const value = [layers, left, 'N', attention / 2];
    const convolution = [layers, 'N', dim, at(sizes.kernels) - 1];
    return {
      len: [layers, 'N'],
      avg: [layers, 'N', dim],
      key: [layers, left, 'N', attention],
      ...{ val: value, val2: value, conv1: convolution, conv2: convolution },
    }[kind];
  }

  /** (N, window, 80) → (frames, N, dim): three convolutions to half of the frames and a quarter of the bins. */
  #frontEnd(x: Value): Value {
    const graph = this.#graph;
    const { channels, dims } = this.#options.sizes;
    const [few, some, many] = channels;
    const levels = graph.op('Mul', [graph.op('Add', [x, graph.float(6)]), graph.float(0.25)]);
    let y = graph.op('Unsqueeze', [levels, graph.ints([1])]);
    for (const [from, to, attributes] of [
      [1, few, { pads: [0, 1, 0, 1] }],
      [few, some, { strides: [2, 2] }],
      [some, many, { strides: [1, 2] }],
    ] as const) {
      const count = 9 * from * to;
      this.#layers.parameters += count;
      const filter = graph.floats(this.#weights.normals(count, 2 / Math.sqrt(9 * from)), [to, from, 3, 3]);
      y = doubleSwish(graph, graph.op('Conv', [y, filter], { kernel_shape: [3, 3], ...attributes }));
    }
    const rows = graph.op('Reshape', [
      graph.op('Transpose', [y], { perm: [2, 0, 1, 3] }),
      graph.ints([this.#frames, -1, many * CONVOLVED_BINS]),
    ]);
    return norm(graph, this.#layers.linear(rows, many * CONVOLVED_BINS, dims[0] ?? 0));
  }

  /** @param x (frames, N, dimBefore), at full rate in and out. */
  #stack(x: Value, stack: number, dimBefore: number): { output: Value; states: States } {
    const graph = this.#graph;
    const { sizes } = this.#options;
    const at = (values: readonly number[]): number => values[stack] ?? 0;
    const [dim, factor] = [at(sizes.dims), at(sizes.downsampling)];
    const layerSizes = {
      dim,
      feedForwardDim: at(sizes.feedForwardDims),
      attentionDim: at(sizes.attentionDims),
      heads: at(sizes.heads),
      kernel: at(sizes.kernels),
      left: at(sizes.left),
      frames: this.#frames / factor,
    };
    const original = dimBefore === dim ? x : this.#layers.linear(x, dimBefore, dim);
    let y = this.#downsample(original, factor);
    const next: States[] = [];
    for (let i = 0; i < at(sizes.layers); i++) {
      const states = byKind((kind) => {
        const own = graph.op('Gather', [`cached_${kind}_${stack}`, graph.ints([i])], { axis: 0 });
        return graph.op('Squeeze', [own, graph.ints([0])]);
      });
      const applied = new Zipformer1Layer(graph, this.#layers, this.#weights, layerSizes).apply(y, states);
      y = applied.output;
      next.push(applied.states);
    }
    const states = byKind((kind) => {
      const rows = next.map((layer) => graph.op('Unsqueeze', [layer[kind], graph.ints([0])]));
      return graph.op('Concat', rows, { axis: 0 });
    });
    if (factor === 1) return { output: y, states };
    const repeated = graph.op('Tile', [
      graph.op('Unsqueeze', [y, graph.ints([1])]),
      graph.ints([1, factor, 1, 1]),
    ]);
    const upsampled = graph.op('Reshape', [repeated, graph.ints([this.#frames, -1, dim])]);
    const sum = graph.op('Add', [original, upsampled]);
    return { output: graph.op('Mul', [sum, graph.float(0.5)]), states };
  }

  /** Mean of every `factor` frames. */
  #downsample(x: Value, factor: number): Value {
    if (factor === 1) return x;
    const graph = this.#graph;
    const grouped = graph.op('Reshape', [
      graph.op('Unsqueeze', [x, graph.ints([1])]),
      graph.ints([this.#frames / factor, factor, 1, -1]),
    ]);
    return graph.op('ReduceMean', [grouped], { axes: [1], keepdims: 0 });
  }
}

function typeOf(kind: StateKind): 'int64' | 'float32' {
  return kind === 'len' ? 'int64' : 'float32';
}

function byKind(part: (kind: StateKind) => Value): States {
  return Object.fromEntries(KINDS.map((kind) => [kind, part(kind)])) as States;
}
