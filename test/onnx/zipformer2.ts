import { OnnxGraph, type Value } from './graph.ts';
import { LinearLayers, Weights } from './weights.ts';
import { type LayerSizes, swoosh, Zipformer2Layer } from './zipformer2-layer.ts';

/** One entry for each stack of layers. */
export interface Zipformer2Sizes {
  readonly downsampling: readonly number[];
  readonly layers: readonly number[];
  readonly dims: readonly number[];
  readonly feedForwardDims: readonly number[];
  readonly queryHeadDims: readonly number[];
  readonly valueHeadDims: readonly number[];
  readonly heads: readonly number[];
  readonly kernels: readonly number[];
  readonly left: readonly number[];
}

export interface Zipformer2Options {
  readonly sizes: Zipformer2Sizes;
  /** Frames of 10 ms that a step moves on; even, and half of it divisible by every downsampling. */
  readonly chunkFrames: number;
  readonly features: 'kaldi' | 'whisper';
  /** Whether products with weights are quantized to 8 bits. */
  readonly int8: boolean;
  readonly seed: number;
  /** `ctc`: log-probabilities of this many tokens; `encoder`: this many values for a joiner. */
  readonly output: { readonly kind: 'ctc' | 'encoder'; readonly size: number };
  /**
   * `levels`: the features as they are. `loud or not`: one bit of each, so that two engines whose features differ in the
   * last digits still give a quantized graph the same numbers; where it rounds, the smallest difference can become a large
   * one.
   */
  readonly reads: 'levels' | 'loud or not';
  /**
   * `convolutions`: the exported front end with its cost. `mixing`: a dense mix of the window's frames, so that every frame
   * of a step weighs in each of its outputs.
   */
  readonly frontEnd: 'convolutions' | 'mixing';
}

/** The window is longer than the step by what the front end's convolutions and its look-ahead take. */
const WINDOW_EXTRA_FRAMES = 13;
const BINS = 80;
const EMBED = { channels: 128, frames: 3, bins: 19 } as const;

export function windowFrames(chunkFrames: number): number {
  return chunkFrames + WINDOW_EXTRA_FRAMES;
}

/** A streaming Zipformer2 of random weights, in the form of icefall's export. */
export function buildZipformer2(options: Zipformer2Options): { model: Uint8Array; parameters: number } {
  return new Zipformer2Builder(options).build();
}

class Zipformer2Builder {
  readonly #graph = new OnnxGraph();
  readonly #options: Zipformer2Options;
  readonly #weights: Weights;
  readonly #layers: LinearLayers;
  readonly #frames: number;
  readonly #newStates: { name: string; value: Value; shape: (number | string)[] }[] = [];

  constructor(options: Zipformer2Options) {
    this.#options = options;
    this.#weights = new Weights(options.seed);
    this.#layers = new LinearLayers(this.#graph, this.#weights, options.int8);
    this.#frames = options.chunkFrames / 2;
  }

  build(): { model: Uint8Array; parameters: number } {
    const { sizes, chunkFrames, features, output } = this.#options;
    const graph = this.#graph;
    const x = graph.input('x', 'float32', ['N', windowFrames(chunkFrames), BINS]);
    const states = this.#declareStates();
    const embedState = graph.input('embed_states', 'float32', [
      'N',
      EMBED.channels,
      EMBED.frames,
      EMBED.bins,
    ]);
    const processed = graph.input('processed_lens', 'int64', ['N']);
    const embedded = this.#embed(this.#readFeatures(x), embedState);
    let y = graph.op('Transpose', [embedded.output], { perm: [1, 0, 2] });
    let dim = sizes.dims[0] ?? 0;
    for (const stack of sizes.dims.keys()) {
      y = this.#stack(stack, y, dim, states[stack] ?? [], processed);
      dim = sizes.dims[stack] ?? 0;
    }
    const halved = this.#downsample(y, 2);
    const result = this.#layers.linear(
      graph.op('Transpose', [halved], { perm: [1, 0, 2] }),
      dim,
      output.size,
      3,
    );
    const outputShape = ['N', this.#frames / 2, output.size];
    if (output.kind === 'ctc') {
      graph.output('log_probs', graph.op('LogSoftmax', [result], { axis: -1 }), 'float32', outputShape);
    } else {
      graph.output('encoder_out', result, 'float32', outputShape);
    }
    for (const { name, value, shape } of this.#newStates)
      graph.output(`new_${name}`, value, 'float32', shape);
    graph.output('new_embed_states', embedded.state, 'float32', [
      'N',
      EMBED.channels,
      EMBED.frames,
      EMBED.bins,
    ]);
    graph.output('new_processed_lens', graph.op('Add', [processed, graph.ints([this.#frames])]), 'int64', [
      'N',
    ]);
    graph.metadata({
      model_type: 'zipformer2',
      version: 1,
      comment: output.kind === 'ctc' ? 'streaming ctc zipformer2' : 'streaming zipformer2',
      decode_chunk_len: chunkFrames,
      T: windowFrames(chunkFrames),
      num_encoder_layers: sizes.layers,
      encoder_dims: sizes.dims,
      cnn_module_kernels: sizes.kernels,
      left_context_len: sizes.left,
      query_head_dims: sizes.queryHeadDims,
      value_head_dims: sizes.valueHeadDims,
      num_heads: sizes.heads,
      ...(features === 'whisper' ? { feature: 'whisper' } : {}),
    });
    return { model: graph.build(), parameters: this.#layers.parameters };
  }

  #readFeatures(x: Value): Value {
    const graph = this.#graph;
    const { reads, features } = this.#options;
    if (reads === 'loud or not')
      return graph.op('Cast', [graph.op('Greater', [x, graph.float(-8)])], { to: 1 });
    const { offset, scale } = features === 'kaldi' ? { offset: 6, scale: 0.25 } : { offset: 0, scale: 1.5 };
    return graph.op('Mul', [graph.op('Add', [x, graph.float(offset)]), graph.float(scale)]);
  }

  /** Inputs of every layer of every stack, in order. */
  #declareStates(): Value[][][] {
    const { sizes } = this.#options;
    let layerIndex = 0;
    return sizes.layers.map((count, stack) =>
      Array.from({ length: count }, () => {
        const states = this.#stateShapes(stack).map(({ name, shape }) =>
          this.#graph.input(`${name}_${layerIndex}`, 'float32', shape),
        );
        layerIndex += 1;
        return states;
      }),
    );
  }

  #stateShapes(stack: number): { name: string; shape: (number | string)[] }[] {
    const { dim, queryHeadDim, valueHeadDim, heads, kernel, left } = this.#layerSizes(stack);
    const half = Math.floor(kernel / 2);
    return [
      { name: 'cached_key', shape: [left, 'N', queryHeadDim * heads] },
      { name: 'cached_nonlin_attn', shape: [1, 'N', left, (3 * dim) / 4] },
      { name: 'cached_val1', shape: [left, 'N', valueHeadDim * heads] },
      { name: 'cached_val2', shape: [left, 'N', valueHeadDim * heads] },
      { name: 'cached_conv1', shape: ['N', dim, half] },
      { name: 'cached_conv2', shape: ['N', dim, half] },
    ];
  }

  #layerSizes(stack: number): LayerSizes {
    const { sizes } = this.#options;
    const at = (values: readonly number[]): number => values[stack] ?? 0;
    return {
      dim: at(sizes.dims),
      feedForwardDim: at(sizes.feedForwardDims),
      queryHeadDim: at(sizes.queryHeadDims),
      valueHeadDim: at(sizes.valueHeadDims),
      heads: at(sizes.heads),
      kernel: at(sizes.kernels),
      left: at(sizes.left),
      frames: this.#frames / at(sizes.downsampling),
    };
  }

  /** x (frames, N, dimBefore), at full rate in and out. */
  #stack(stack: number, x: Value, dimBefore: number, states: readonly Value[][], processed: Value): Value {
    const graph = this.#graph;
    const sizes = this.#layerSizes(stack);
    const factor = this.#options.sizes.downsampling[stack] ?? 1;
    const original = this.#resize(x, dimBefore, sizes.dim);
    let y = this.#downsample(original, factor);
    const context = {
      graph,
      layers: this.#layers,
      weights: this.#weights,
      processed: graph.op('Div', [processed, graph.ints([factor])]),
    };
    for (const layerStates of states) {
      const layer = new Zipformer2Layer(context, sizes);
      y = layer.apply(y, layerStates);
      const shapes = this.#stateShapes(stack);
      for (const [i, value] of layer.newStates.entries()) {
        this.#newStates.push({ name: layerStates[i] ?? '', value, shape: shapes[i]?.shape ?? [] });
      }
    }
    if (factor === 1) return y;
    const repeated = graph.op('Tile', [
      graph.op('Unsqueeze', [y, graph.ints([1])]),
      graph.ints([1, factor, 1, 1]),
    ]);
    const upsampled = graph.op('Reshape', [repeated, graph.ints([this.#frames, -1, sizes.dim])]);
    return graph.op('Mul', [graph.op('Add', [original, upsampled]), graph.float(0.5)]);
  }

  /** Mean of every `factor` frames. */
  #downsample(x: Value, factor: number): Value {
    if (factor === 1) return x;
    const graph = this.#graph;
    // Frames are the slowest dimension: (frames / factor, factor, N, dim).
    const grouped = graph.op('Reshape', [
      graph.op('Unsqueeze', [x, graph.ints([1])]),
      graph.ints([this.#frames / factor, factor, 1, -1]),
    ]);
    return graph.op('ReduceMean', [grouped], { axes: [1], keepdims: 0 });
  }

  /** Cuts channels off or adds zeros. */
  #resize(x: Value, from: number, to: number): Value {
    const graph = this.#graph;
    if (to < from) return graph.op('Slice', [x, graph.ints([0]), graph.ints([to]), graph.ints([2])]);
    return to === from ? x : graph.op('Pad', [x, graph.ints([0, 0, 0, 0, 0, to - from])]);
  }

  #embed(x: Value, state: Value): { output: Value; state: Value } {
    const { frontEnd, sizes } = this.#options;
    const dim = sizes.dims[0] ?? 0;
    return frontEnd === 'mixing' ? this.#mix(x, state, dim) : this.#convolve(x, state, dim);
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
