import type { OnnxGraph, Shape, Value } from './graph.ts';
import { BINS, EMBED, windowFrames } from './zipformer2-options.ts';

const CHANNELS = 4;

/** The state of a shell whose frames a model may use: the newest one last, in each of 4 channels. */
export const HISTORY = 'cached_conv1_0';

/**
 * The inputs, outputs and metadata of a streaming Zipformer2 with one layer. What it makes of its input is up
 * to the caller, so that a model can be written that does one thing.
 */
export class Zipformer2Shell {
  readonly graph: OnnxGraph;
  /** Features (N, window, 80). */
  readonly x: Value;
  readonly #chunkFrames: number;
  readonly #historyFrames: number;
  readonly #states: Readonly<Record<string, Shape>>;

  /** @param historyFrames of the state `HISTORY`. @param isOpen whether the graph leaves the states' sizes open */
  constructor(graph: OnnxGraph, chunkFrames: number, historyFrames = 1, isOpen = false) {
    this.graph = graph;
    this.#chunkFrames = chunkFrames;
    this.#historyFrames = historyFrames;
    this.x = graph.input('x', 'float32', ['N', windowFrames(chunkFrames), BINS]);
    const shapes: Record<string, Shape> = {
      cached_key_0: [1, 'N', 1],
      cached_nonlin_attn_0: [1, 'N', 1, (3 * CHANNELS) / 4],
      cached_val1_0: [1, 'N', 1],
      cached_val2_0: [1, 'N', 1],
      [HISTORY]: ['N', CHANNELS, historyFrames],
      cached_conv2_0: ['N', CHANNELS, historyFrames],
      embed_states: ['N', EMBED.channels, EMBED.frames, EMBED.bins],
    };
    if (isOpen)
      for (const [name, shape] of Object.entries(shapes)) shapes[name] = shape.map((_, i) => `D${i}`);
    this.#states = shapes;
    for (const [name, shape] of Object.entries(shapes)) graph.input(name, 'float32', shape);
    graph.input('processed_lens', 'int64', ['N']);
  }

  /** Declares the result and the states, which stay as they are unless `next` has others; and the metadata. */
  declare(
    result: { name: string; value: Value; type?: 'float32' | 'int64'; shape: Shape },
    next: Readonly<Record<string, { value: Value; shape?: Shape }>> = {},
  ): void {
    const { graph } = this;
    graph.output(result.name, result.value, result.type ?? 'float32', result.shape);
    for (const [name, shape] of Object.entries(this.#states)) {
      const state = next[name];
      graph.output(`new_${name}`, state?.value ?? name, 'float32', state?.shape ?? shape);
    }
    graph.output('new_processed_lens', 'processed_lens', 'int64', ['N']);
    this.metadata();
  }

  /** What the layout is read from. @param other entries, or other values */
  metadata(other: Readonly<Record<string, number>> = {}): void {
    this.graph.metadata({
      model_type: 'zipformer2',
      decode_chunk_len: this.#chunkFrames,
      T: windowFrames(this.#chunkFrames),
      num_encoder_layers: 1,
      encoder_dims: CHANNELS,
      cnn_module_kernels: 2 * this.#historyFrames,
      left_context_len: 1,
      query_head_dims: 1,
      value_head_dims: 1,
      num_heads: 1,
      ...other,
    });
  }

  /** The same value in each channel. @param value (N, frames) */
  inEachChannel(value: Value): Value {
    const { graph } = this;
    return graph.op('Tile', [graph.op('Unsqueeze', [value, graph.ints([1])]), graph.ints([1, CHANNELS, 1])]);
  }
}
