import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OnnxGraph, type Value } from './graph.ts';

/** What is wrong with the model: all of it is there and fits its metadata, and only what comes out shows it. */
export type Fault =
  | 'scores are NaN'
  | 'scores are int64'
  | 'scores are too few'
  | 'scores are too few when it is loud'
  | 'states grow';

const BINS = 80;
const WINDOW_FRAMES = 29;
const SHIFT_FRAMES = 16;
/** A mean log-mel energy above this is loud. */
const LOUD = -9;
const SYMBOLS = ['<blk>', '是'] as const;

/** Writes a model in the form of NeMo's streaming CTC export that says 是 in its first output frame, if nothing is wrong with it. */
export function writeFaultyModel(folder: string, fault: Fault | undefined): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tokens.txt'), SYMBOLS.map((symbol, id) => `${symbol} ${id}\n`).join(''));
  const graph = new OnnxGraph();
  const signal = graph.input('audio_signal', 'float32', ['N', BINS, WINDOW_FRAMES]);
  const length = graph.input('length', 'int64', ['N']);
  const channel = graph.input('cache_last_channel', 'float32', ['N', 1, 1, 1]);
  const time = graph.input('cache_last_time', 'float32', ['N', 1, 1, 1]);
  const channelLength = graph.input('cache_last_channel_len', 'int64', ['N']);

  // Makes 0 of every batch entry, or NaN, as one damaged weight does.
  const factor = graph.float(fault === 'scores are NaN' ? Number.POSITIVE_INFINITY : 0);
  const mean = graph.op('ReduceMean', [signal], { axes: [1, 2], keepdims: 1 });
  const zero = graph.op('Mul', [graph.op('Mul', [mean, graph.float(0)]), factor]);
  const frame = graph.floats(Float32Array.of(0, 1), [1, 1, SYMBOLS.length]);
  const all = graph.op('Add', [zero, frame]);
  const isShort = fault === 'scores are too few' || fault === 'scores are too few when it is loud';
  const scores = isShort ? withoutLast(graph, all, mean, fault === 'scores are too few') : all;
  const isInt64 = fault === 'scores are int64';
  graph.output(
    'logprobs',
    isInt64 ? graph.op('Cast', [scores], { to: 7 }) : scores,
    isInt64 ? 'int64' : 'float32',
    ['N', 1, SYMBOLS.length],
  );
  graph.output('encoded_lengths', length, 'int64', ['N']);
  const next = fault === 'states grow' ? graph.op('Concat', [channel, channel], { axis: 3 }) : channel;
  graph.output('cache_last_channel_next', next, 'float32', ['N', 1, 1, fault === 'states grow' ? 2 : 1]);
  graph.output('cache_last_time_next', time, 'float32', ['N', 1, 1, 1]);
  graph.output('cache_last_channel_next_len', channelLength, 'int64', ['N']);
  const sizes = [1, 2, 3].flatMap((n) => [`cache_last_channel_dim${n}`, `cache_last_time_dim${n}`]);
  graph.metadata({
    window_size: WINDOW_FRAMES,
    chunk_shift: SHIFT_FRAMES,
    ...Object.fromEntries(sizes.map((key) => [key, 1])),
  });
  writeFileSync(join(folder, 'model.onnx'), graph.build());
}

/** The scores without the last one, always or when it is loud: nobody knows how many these are who only reads the graph. */
function withoutLast(graph: OnnxGraph, scores: Value, mean: Value, always: boolean): Value {
  const isShort = graph.op('Greater', [mean, graph.float(always ? Number.NEGATIVE_INFINITY : LOUD)]);
  const left = graph.op('Reshape', [graph.op('Cast', [isShort], { to: 7 }), graph.ints([-1])]);
  const end = graph.op('Sub', [graph.ints([SYMBOLS.length]), left]);
  return graph.op('Slice', [scores, graph.ints([0]), end, graph.ints([2])]);
}
