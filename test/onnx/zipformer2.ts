import { OnnxGraph, type Value } from './graph.ts';
import { LinearLayers, Weights } from './weights.ts';
import { Zipformer2FrontEnd } from './zipformer2-front-end.ts';
import { type LayerSizes, Zipformer2Layer } from './zipformer2-layer.ts';
import { BINS, EMBED, windowFrames, type Zipformer2Options } from './zipformer2-options.ts';

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
    const frontEnd = new Zipformer2FrontEnd(
      { graph, layers: this.#layers, weights: this.#weights },
      this.#options,
    );
    const embedded = frontEnd.apply(x, embedState);
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
      const given = output.isOpen ? graph.withOpenShape(result, processed) : result;
      graph.output('encoder_out', given, 'float32', output.isOpen ? ['N', 'T', 'D'] : outputShape);
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
}
