import { OnnxGraph, type Shape, type Value } from './graph.ts';
import { TransformerBlocks, type TransformerSizes } from './transformer-blocks.ts';
import { Weights } from './weights.ts';

export interface WhisperSizes extends TransformerSizes {
  readonly melBins: number;
  readonly audioContext: number;
  readonly textContext: number;
}

export interface WhisperGraphOptions {
  readonly sizes: WhisperSizes;
  /**
   * `stacked`: all layers in one tensor, always `textContext` positions, and the audio once a hypothesis, as sherpa-onnx's
   * export has them. `layered`: a tensor a layer, from no position on, and one audio for all hypotheses, as the bundled model.
   */
  readonly layout: 'stacked' | 'layered';
  /** Whether products with weights are quantized to 8 bits. */
  readonly int8: boolean;
  readonly seed: number;
}

/** (N, bands, T) → keys and values of the decoder's attention. */
export function buildWhisperEncoder(
  options: WhisperGraphOptions,
  metadata: Parameters<OnnxGraph['metadata']>[0],
): Uint8Array {
  const { sizes } = options;
  const { graph, weights, blocks } = begin(options, 0);
  const conv = (x: Value, channels: number, stride: number): Value => {
    const filter = weights.normals(3 * channels * sizes.width, 2 / Math.sqrt(3 * channels));
    const shape = { kernel_shape: [3], pads: [1, 1], strides: [stride] };
    return blocks.gelu(graph.op('Conv', [x, graph.floats(filter, [sizes.width, channels, 3])], shape));
  };
  const mel = graph.input('mel', 'float32', ['n_audio', sizes.melBins, 'T']);
  let x = graph.op('Transpose', [conv(conv(mel, sizes.melBins, 1), sizes.width, 2)], { perm: [0, 2, 1] });
  x = blocks.add(x, blocks.positions(sizes.audioContext, 0.3, graph.ints([0]), blocks.sizeOf(x, 1)));
  for (let layer = 0; layer < sizes.layers; layer++) {
    const normal = blocks.norm(x);
    x = blocks.attention(x, normal, blocks.linear(normal, 2), blocks.linear(normal));
    x = blocks.feedForward(x);
  }
  const audio = blocks.norm(x);
  for (const part of ['k', 'v'] as const) {
    const layers = Array.from({ length: sizes.layers }, () => blocks.linear(audio, 2));
    if (options.layout === 'layered') {
      for (const [i, layer] of layers.entries())
        graph.output(
          `cross_${part}_${i}`,
          blocks.heads(layer, CROSS[part].perm),
          'float32',
          crossShape(part, sizes),
        );
      continue;
    }
    const shape = [sizes.layers, 'n_audio', 'T', sizes.width];
    const stacked = layers.map((layer) => blocks.stacked(layer));
    graph.output(`n_layer_cross_${part}`, graph.op('Concat', stacked, { axis: 0 }), 'float32', shape);
  }
  graph.metadata(metadata);
  return graph.build();
}

/** Of N, positions, heads and a head's values: the order in which attention multiplies them, and the way back. */
const CROSS = {
  k: { perm: [0, 2, 3, 1], back: [0, 3, 1, 2] },
  v: { perm: [0, 2, 1, 3], back: [0, 2, 1, 3] },
} as const;

function crossShape(part: 'k' | 'v', { width, heads }: WhisperSizes): Shape {
  return part === 'k' ? [1, heads, width / heads, 'T'] : [1, heads, 'T', width / heads];
}

/** What a decoder is given, a value (N, positions, width) a layer; and how it gives its caches back. */
interface DecoderEnds {
  readonly offset: Value;
  readonly past: readonly [keys: readonly Value[], values: readonly Value[]];
  readonly cross: readonly [keys: readonly Value[], values: readonly Value[]];
  /** @param all keys or values of a layer each, those before included */
  readonly output: (part: 'k' | 'v', all: readonly Value[], end: Value) => void;
}

/** @param bias of each token, added to its score. */
export function buildWhisperDecoder(options: WhisperGraphOptions, bias: Float32Array): Uint8Array {
  const { sizes } = options;
  const { graph, weights, blocks } = begin(options, 1);
  const tokens = graph.input('tokens', 'int64', ['n_audio', 'n_tokens']);
  const ends = options.layout === 'layered' ? layered(graph, blocks, sizes) : stacked(graph, blocks, sizes);
  const { offset, past, cross } = ends;

  const count = blocks.sizeOf(tokens, 1);
  const end = blocks.add(offset, count);
  // As in the export: it fits one token behind others, or several in front of all.
  const none = graph.op('Expand', [graph.float(-1e9), graph.op('Concat', [count, count], { axis: 0 })]);
  const mask = graph.op('Trilu', [none, graph.ints([1])], { upper: 1 });
  const table = graph.floats(weights.normals(sizes.vocabularySize * sizes.width, 1), [
    sizes.vocabularySize,
    sizes.width,
  ]);
  let x = graph.op('Gather', [table, tokens]);
  x = blocks.add(x, blocks.positions(sizes.textContext, 1, offset, end));
  const all: [keys: Value[], values: Value[]] = [[], []];
  for (let layer = 0; layer < sizes.layers; layer++) {
    const normal = blocks.norm(x);
    const behind = (before: Value | undefined, now: Value): Value =>
      graph.op('Concat', [before ?? '', now], { axis: 1 });
    const [keys, values] = [blocks.linear(normal, 2), blocks.linear(normal, 2)];
    const seen = [behind(past[0][layer], keys), behind(past[1][layer], values)] as const;
    all[0].push(seen[0]);
    all[1].push(seen[1]);
    x = blocks.attention(x, normal, ...seen, mask);
    x = blocks.attention(x, blocks.norm(x), cross[0][layer] ?? '', cross[1][layer] ?? '');
    x = blocks.feedForward(x);
  }
  const scores = blocks.add(blocks.scores(blocks.norm(x)), graph.floats(bias, [sizes.vocabularySize]));
  graph.output('logits', scores, 'float32', ['n_audio', 'n_tokens', sizes.vocabularySize]);
  ends.output('k', all[0], end);
  ends.output('v', all[1], end);
  return graph.build();
}

function stacked(graph: OnnxGraph, blocks: TransformerBlocks, sizes: WhisperSizes): DecoderEnds {
  const { layers, textContext, width } = sizes;
  const cacheShape = [layers, 'n_audio', textContext, width];
  const cache = (part: string): Value => graph.input(`in_n_layer_self_${part}_cache`, 'float32', cacheShape);
  const audio = (part: string): Value =>
    graph.input(`n_layer_cross_${part}`, 'float32', [layers, 'n_audio', 'T', width]);
  const caches = { k: cache('k'), v: cache('v') };
  const cross = [audio('k'), audio('v')] as const;
  const offset = graph.input('offset', 'int64', [1]);
  const past = (part: 'k' | 'v'): Value[] =>
    blocks.layers(blocks.slice(caches[part], 2, graph.ints([0]), offset));
  return {
    offset,
    past: [past('k'), past('v')],
    cross: [blocks.layers(cross[0]), blocks.layers(cross[1])],
    output: (part, all, end) => {
      const rest = blocks.slice(caches[part], 2, end, graph.ints([textContext]));
      const now = graph.op(
        'Concat',
        all.map((layer) => blocks.stacked(layer)),
        { axis: 0 },
      );
      const next = graph.op('Concat', [now, rest], { axis: 2 });
      graph.output(`out_n_layer_self_${part}_cache`, next, 'float32', cacheShape);
    },
  };
}

function layered(graph: OnnxGraph, blocks: TransformerBlocks, sizes: WhisperSizes): DecoderEnds {
  const { layers, heads, width } = sizes;
  const parents = graph.input('parents', 'int64', ['n_audio']);
  const shape = (rows: string, positions: string): Shape => [rows, heads, positions, width / heads];
  const numbers = [...new Array<number>(layers).keys()];
  const caches = numbers.map((i) =>
    (['k', 'v'] as const).map((part) =>
      graph.input(`self_${part}_${i}`, 'float32', shape('n_cached', 'n_past')),
    ),
  );
  const audio = numbers.map((i) =>
    (['k', 'v'] as const).map((part) =>
      blocks.joined(graph.input(`cross_${part}_${i}`, 'float32', crossShape(part, sizes)), CROSS[part].back),
    ),
  );
  const past = (part: 0 | 1): Value[] =>
    caches.map((of) => blocks.joined(graph.op('Gather', [of[part] ?? '', parents]), [0, 2, 1, 3]));
  const cross = (part: 0 | 1): Value[] => audio.map((of) => of[part] ?? '');
  return {
    offset: blocks.sizeOf(caches[0]?.[0] ?? '', 2),
    past: [past(0), past(1)],
    cross: [cross(0), cross(1)],
    output: (part, all) => {
      for (const [i, layer] of all.entries())
        graph.output(
          `out_self_${part}_${i}`,
          blocks.heads(layer, [0, 2, 1, 3]),
          'float32',
          shape('n_audio', 'n_text'),
        );
    },
  };
}

function begin(
  { sizes, int8, seed }: WhisperGraphOptions,
  part: number,
): { graph: OnnxGraph; weights: Weights; blocks: TransformerBlocks } {
  const graph = new OnnxGraph();
  const weights = new Weights(2 * seed + part);
  return { graph, weights, blocks: new TransformerBlocks(graph, weights, sizes, int8) };
}
