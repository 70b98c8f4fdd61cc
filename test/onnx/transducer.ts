import { OnnxGraph } from './graph.ts';
import { LinearLayers, Weights } from './weights.ts';

export interface TransducerHeadOptions {
  readonly vocabularySize: number;
  readonly contextSize: number;
  readonly dim: number;
  readonly int8: boolean;
  readonly seed: number;
  /** Added to the blank's score. */
  readonly blankBias: number;
  /**
   * Whether the graphs leave open how many values they give: a run's input decides, as far as anybody can
   * tell who only reads the graph.
   */
  readonly openSizes?: boolean;
}

/** A stateless decoder: an embedding of the last tokens (−1 is all zeros), mixed over their places. */
export function buildDecoder(options: TransducerHeadOptions): Uint8Array {
  const { vocabularySize, contextSize, dim } = options;
  const graph = new OnnxGraph();
  const weights = new Weights(options.seed);
  const layers = new LinearLayers(graph, weights, false);
  const y = graph.input('y', 'int64', ['N', contextSize]);
  const table = graph.floats(weights.normals(vocabularySize * dim, 1), [vocabularySize, dim]);
  const embedded = graph.op('Gather', [table, graph.op('Max', [y, graph.ints([0])])]);
  const there = graph.op('Cast', [graph.op('GreaterOrEqual', [y, graph.ints([0])])], { to: 1 });
  const masked = graph.op('Mul', [embedded, graph.op('Unsqueeze', [there, graph.ints([2])])]);
  const flat = graph.op('Reshape', [masked, graph.ints([-1, contextSize * dim])]);
  const hidden = graph.op('Relu', [layers.linear(flat, contextSize * dim, dim, 2)]);
  const output = layers.linear(hidden, dim, dim, 1);
  if (options.openSizes) graph.output('decoder_out', graph.withOpenShape(output, y), 'float32', ['N', 'D']);
  else graph.output('decoder_out', output, 'float32', ['N', dim]);
  graph.metadata({ context_size: contextSize, vocab_size: vocabularySize });
  return graph.build();
}

export function buildJoiner(options: TransducerHeadOptions): Uint8Array {
  const { vocabularySize, dim, blankBias } = options;
  const graph = new OnnxGraph();
  const weights = new Weights(options.seed + 1);
  const layers = new LinearLayers(graph, weights, options.int8);
  const encoderOut = graph.input('encoder_out', 'float32', ['N', dim]);
  const decoderOut = graph.input('decoder_out', 'float32', ['N', dim]);
  const joined = graph.op('Tanh', [graph.op('Add', [encoderOut, decoderOut])]);
  const bias = Float32Array.from({ length: vocabularySize }, (_, id) => (id === 0 ? blankBias : 0));
  const scores = graph.op('Add', [
    layers.linear(joined, dim, vocabularySize, 3),
    graph.floats(bias, [vocabularySize]),
  ]);
  if (options.openSizes) {
    const heard = graph.op('Cast', [encoderOut], { to: 7 });
    graph.output('logit', graph.withOpenShape(scores, heard), 'float32', ['N', 'V']);
  } else {
    graph.output('logit', scores, 'float32', ['N', vocabularySize]);
  }
  graph.metadata({ joiner_dim: dim });
  return graph.build();
}
