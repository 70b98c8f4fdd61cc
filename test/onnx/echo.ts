import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OnnxGraph, type Shape, type Value } from './graph.ts';
import type { ReferenceModel } from './reference-engine.ts';
import { windowFrames } from './zipformer2-options.ts';

/** Frames after which the echo is said. */
export const ECHO_DELAY_FRAMES = 56;
const ECHO_SYMBOLS = ['<blk>', '响'] as const;

const BINS = 80;
const SUBSAMPLING = 4;
/** A mean log-mel energy above this is loud. */
const LOUD = -9;
/** Channels of the zipformer's convolution state; the first one is used. */
const CHANNELS = 4;

/**
 * Writes a model that says 响 for every loud frame, a fixed time after it heard it: what it has not said yet is in its states.
 * @param encoderDim what a transducer's encoder declares as the size of a frame, whatever it is in a run.
 */
export function writeEchoModel(
  folder: string,
  family: ReferenceModel['family'],
  chunkFrames: number,
  encoderDim?: Shape[number],
): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tokens.txt'), ECHO_SYMBOLS.map((symbol, id) => `${symbol} ${id}\n`).join(''));
  const write = (name: string, graph: OnnxGraph): void => writeFileSync(join(folder, name), graph.build());
  switch (family) {
    case 'nemo-ctc':
      write('model.onnx', nemoEcho(chunkFrames));
      return;
    case 'zipformer2-ctc':
      write('model.onnx', zipformerEcho(chunkFrames, 'log_probs'));
      return;
    case 'zipformer2-transducer':
      write('encoder.onnx', zipformerEcho(chunkFrames, 'encoder_out', encoderDim));
      write('decoder.onnx', silentDecoder());
      write('joiner.onnx', sumJoiner());
      return;
    default:
      family satisfies never;
  }
}

/** @returns scores (N, chunk / 4, 2) of the delayed frames, and the new history (N, delay). */
function echo(
  graph: OnnxGraph,
  loudness: Value,
  history: Value,
  chunkFrames: number,
): [scores: Value, next: Value] {
  const slice = (x: Value, start: number, end: number): Value =>
    graph.op('Slice', [x, graph.ints([start]), graph.ints([end]), graph.ints([1])]);
  const loud = graph.op('Cast', [graph.op('Greater', [loudness, graph.float(LOUD)])], { to: 1 });
  const all = graph.op('Concat', [history, slice(loud, 0, chunkFrames)], { axis: 1 });
  const grouped = graph.op('Reshape', [
    slice(all, 0, chunkFrames),
    graph.ints([-1, chunkFrames / SUBSAMPLING, SUBSAMPLING]),
  ]);
  const said = graph.op('ReduceMax', [grouped], { axes: [2], keepdims: 1 });
  const silent = graph.op('Sub', [graph.float(1), said]);
  const scores = graph.op('Concat', [silent, said], { axis: 2 });
  return [scores, slice(all, chunkFrames, chunkFrames + ECHO_DELAY_FRAMES)];
}

/** A model whose run fails in every step with a loud frame in it: the graph reads beyond the end of a table. */
export function writeFailingModel(folder: string, chunkFrames: number): void {
  writeEchoModel(folder, 'nemo-ctc', chunkFrames);
  const graph = new OnnxGraph();
  writeFileSync(
    join(folder, 'model.onnx'),
    nemoEcho(chunkFrames, graph, (loudness) => {
      const loudest = graph.op('ReduceMax', [loudness], { axes: [1], keepdims: 0 });
      const row = graph.op('Cast', [graph.op('Greater', [loudest, graph.float(LOUD)])], { to: 7 });
      const zero = graph.op('Gather', [graph.floats(Float32Array.of(0), [1]), row]);
      return graph.op('Add', [loudness, zero]);
    }).build(),
  );
}

function nemoEcho(
  chunkFrames: number,
  graph = new OnnxGraph(),
  check: (loudness: Value) => Value = (loudness) => loudness,
): OnnxGraph {
  const window = windowFrames(chunkFrames);
  const signal = graph.input('audio_signal', 'float32', ['N', BINS, window]);
  const length = graph.input('length', 'int64', ['N']);
  const channel = graph.input('cache_last_channel', 'float32', ['N', 1, 1, 1]);
  const time = graph.input('cache_last_time', 'float32', ['N', 1, 1, ECHO_DELAY_FRAMES]);
  const channelLength = graph.input('cache_last_channel_len', 'int64', ['N']);
  const loudness = check(graph.op('ReduceMean', [signal], { axes: [1], keepdims: 0 }));
  const history = graph.op('Reshape', [time, graph.ints([-1, ECHO_DELAY_FRAMES])]);
  const [scores, next] = echo(graph, loudness, history, chunkFrames);
  graph.output('logprobs', scores, 'float32', ['N', chunkFrames / SUBSAMPLING, ECHO_SYMBOLS.length]);
  graph.output('encoded_lengths', length, 'int64', ['N']);
  graph.output('cache_last_channel_next', channel, 'float32', ['N', 1, 1, 1]);
  const nextTime = graph.op('Reshape', [next, graph.ints([-1, 1, 1, ECHO_DELAY_FRAMES])]);
  graph.output('cache_last_time_next', nextTime, 'float32', ['N', 1, 1, ECHO_DELAY_FRAMES]);
  graph.output('cache_last_channel_next_len', channelLength, 'int64', ['N']);
  graph.metadata({
    window_size: window,
    chunk_shift: chunkFrames,
    subsampling_factor: SUBSAMPLING,
    vocab_size: ECHO_SYMBOLS.length - 1,
    cache_last_channel_dim1: 1,
    cache_last_channel_dim2: 1,
    cache_last_channel_dim3: 1,
    cache_last_time_dim1: 1,
    cache_last_time_dim2: 1,
    cache_last_time_dim3: ECHO_DELAY_FRAMES,
  });
  return graph;
}

function zipformerEcho(chunkFrames: number, outputName: string, declaredDim?: Shape[number]): OnnxGraph {
  const graph = new OnnxGraph();
  const window = windowFrames(chunkFrames);
  const x = graph.input('x', 'float32', ['N', window, BINS]);
  const unused = {
    cached_key_0: [1, 'N', 1],
    cached_nonlin_attn_0: [1, 'N', 1, (3 * CHANNELS) / 4],
    cached_val1_0: [1, 'N', 1],
    cached_val2_0: [1, 'N', 1],
  };
  for (const [name, shape] of Object.entries(unused)) graph.input(name, 'float32', shape);
  const shape = ['N', CHANNELS, ECHO_DELAY_FRAMES];
  const state = graph.input('cached_conv1_0', 'float32', shape);
  const other = graph.input('cached_conv2_0', 'float32', shape);
  const embed = graph.input('embed_states', 'float32', ['N', 128, 3, 19]);
  const processed = graph.input('processed_lens', 'int64', ['N']);
  const loudness = graph.op('ReduceMean', [x], { axes: [2], keepdims: 0 });
  const first = graph.op('Slice', [state, graph.ints([0]), graph.ints([1]), graph.ints([1])]);
  const [scores, next] = echo(graph, loudness, graph.op('Squeeze', [first, graph.ints([1])]), chunkFrames);
  const frames = declaredDim === undefined ? scores : graph.withOpenShape(scores, processed);
  const frameDim = declaredDim ?? ECHO_SYMBOLS.length;
  graph.output(outputName, frames, 'float32', ['N', chunkFrames / SUBSAMPLING, frameDim]);
  for (const [name, unusedShape] of Object.entries(unused))
    graph.output(`new_${name}`, name, 'float32', unusedShape);
  const spread = graph.op('Tile', [
    graph.op('Unsqueeze', [next, graph.ints([1])]),
    graph.ints([1, CHANNELS, 1]),
  ]);
  graph.output('new_cached_conv1_0', spread, 'float32', shape);
  graph.output('new_cached_conv2_0', other, 'float32', shape);
  graph.output('new_embed_states', embed, 'float32', ['N', 128, 3, 19]);
  graph.output('new_processed_lens', processed, 'int64', ['N']);
  graph.metadata({
    model_type: 'zipformer2',
    decode_chunk_len: chunkFrames,
    T: window,
    num_encoder_layers: 1,
    encoder_dims: CHANNELS,
    cnn_module_kernels: 2 * ECHO_DELAY_FRAMES,
    left_context_len: 1,
    query_head_dims: 1,
    value_head_dims: 1,
    num_heads: 1,
  });
  return graph;
}

/** Says nothing of its own. */
function silentDecoder(): OnnxGraph {
  const graph = new OnnxGraph();
  const y = graph.input('y', 'int64', ['N', 2]);
  const zeros = graph.op('Mul', [graph.op('Cast', [y], { to: 1 }), graph.float(0)]);
  graph.output('decoder_out', zeros, 'float32', ['N', ECHO_SYMBOLS.length]);
  graph.metadata({ context_size: 2, vocab_size: ECHO_SYMBOLS.length });
  return graph;
}

function sumJoiner(): OnnxGraph {
  const graph = new OnnxGraph();
  const encoderOut = graph.input('encoder_out', 'float32', ['N', ECHO_SYMBOLS.length]);
  const decoderOut = graph.input('decoder_out', 'float32', ['N', ECHO_SYMBOLS.length]);
  const scores = graph.op('Add', [encoderOut, decoderOut]);
  graph.output('logit', scores, 'float32', ['N', ECHO_SYMBOLS.length]);
  return graph;
}
