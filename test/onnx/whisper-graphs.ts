import { OnnxGraph, type Value } from './graph.ts';
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
   * `fixed`: always `textContext` positions, as sherpa-onnx's export has them, and the audio once a hypothesis.
   * `growing`: any length from what is in them on, and one audio for all hypotheses.
   */
  readonly caches: 'fixed' | 'growing';
  /** Whether products with weights are quantized to 8 bits. */
  readonly int8: boolean;
  readonly seed: number;
}

/** (N, bands, T) → keys and values (layers, N, T / 2, width) of the decoder's attention. */
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
  for (const name of ['n_layer_cross_k', 'n_layer_cross_v']) {
    const layers = Array.from({ length: sizes.layers }, () => blocks.stacked(blocks.linear(audio, 2)));
    const shape = [sizes.layers, 'n_audio', 'T', sizes.width];
    graph.output(name, graph.op('Concat', layers, { axis: 0 }), 'float32', shape);
  }
  graph.metadata(metadata);
  return graph.build();
}

/** @param bias of each token, added to its score. */
export function buildWhisperDecoder(options: WhisperGraphOptions, bias: Float32Array): Uint8Array {
  const { sizes, caches } = options;
  const { graph, weights, blocks } = begin(options, 1);
  const tokens = graph.input('tokens', 'int64', ['n_audio', 'n_tokens']);
  const isFixed = caches === 'fixed';
  const cacheShape = [sizes.layers, 'n_audio', isFixed ? sizes.textContext : 'n_text_ctx', sizes.width];
  const crossShape = [sizes.layers, isFixed ? 'n_audio' : 'n_cross', 'T', sizes.width];
  const selfCaches = ['k', 'v'].map((part) =>
    graph.input(`in_n_layer_self_${part}_cache`, 'float32', cacheShape),
  );
  const cross = ['k', 'v'].map((part) => graph.input(`n_layer_cross_${part}`, 'float32', crossShape));
  const offset = graph.input('offset', 'int64', [1]);

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
  const past = selfCaches.map((cache) => blocks.slice(cache, 2, graph.ints([0]), offset));
  const parts = [...past, ...cross].map((all) => blocks.layers(all));
  const added: [keys: Value[], values: Value[]] = [[], []];
  for (let layer = 0; layer < sizes.layers; layer++) {
    const [pastKeys = '', pastValues = '', crossKeys = '', crossValues = ''] = parts.map(
      (of) => of[layer] ?? '',
    );
    const normal = blocks.norm(x);
    const [keys, values] = [blocks.linear(normal, 2), blocks.linear(normal, 2)];
    added[0].push(blocks.stacked(keys));
    added[1].push(blocks.stacked(values));
    const behind = (before: Value, now: Value): Value => graph.op('Concat', [before, now], { axis: 1 });
    x = blocks.attention(x, normal, behind(pastKeys, keys), behind(pastValues, values), mask);
    x = blocks.attention(x, blocks.norm(x), crossKeys, crossValues);
    x = blocks.feedForward(x);
  }
  const scores = blocks.add(blocks.scores(blocks.norm(x)), graph.floats(bias, [sizes.vocabularySize]));
  graph.output('logits', scores, 'float32', ['n_audio', 'n_tokens', sizes.vocabularySize]);
  for (const [i, part] of ['k', 'v'].entries()) {
    const rest = blocks.slice(selfCaches[i] ?? '', 2, end, graph.ints([sizes.textContext]));
    const now = graph.op('Concat', added[i] ?? [], { axis: 0 });
    const next = graph.op('Concat', [past[i] ?? '', now, rest], { axis: 2 });
    const shape = isFixed ? cacheShape : [sizes.layers, 'n_audio', 'n_text_ctx_out', sizes.width];
    graph.output(`out_n_layer_self_${part}_cache`, next, 'float32', shape);
  }
  return graph.build();
}

function begin(
  { sizes, int8, seed }: WhisperGraphOptions,
  part: number,
): { graph: OnnxGraph; weights: Weights; blocks: TransformerBlocks } {
  const graph = new OnnxGraph();
  const weights = new Weights(2 * seed + part);
  return { graph, weights, blocks: new TransformerBlocks(graph, weights, sizes, int8) };
}
