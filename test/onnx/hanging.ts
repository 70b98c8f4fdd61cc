import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OnnxGraph } from './graph.ts';
import { writeTokens } from './model-folder.ts';

const WINDOW_FRAMES = 24;
const SHIFT_FRAMES = 16;
const SUBSAMPLING = 4;
/** Each product of two such square matrices is 10¹² operations, many seconds of any core. */
const SIZE = 8_000;
const PRODUCTS = 20;
/** Log mel energies: those of silence are below, those of anything that is heard above. */
const LOUD = -9;

/** A NeMo CTC model that loads, and hears nothing in silence; of anything louder its run does not come back within minutes. */
export function writeHangingModel(folder: string): void {
  const graph = new OnnxGraph();
  const signal = graph.input('audio_signal', 'float32', ['N', 80, WINDOW_FRAMES]);
  const length = graph.input('length', 'int64', ['N']);
  const channel = graph.input('cache_last_channel', 'float32', ['N', 1, 1, 1]);
  const time = graph.input('cache_last_time', 'float32', ['N', 1, 1, 1]);
  const channelLength = graph.input('cache_last_channel_len', 'int64', ['N']);

  const energy = graph.op('ReduceMean', [signal], { keepdims: 0 });
  const isLoud = graph.op('Cast', [graph.op('Greater', [energy, graph.float(LOUD)])], { to: 7 });
  const size = graph.op('Add', [graph.op('Mul', [isLoud, graph.ints([SIZE - 1])]), graph.ints([1])]);
  const square = graph.op('Expand', [
    graph.op('Mul', [energy, graph.float(0)]),
    graph.op('Concat', [size, size], { axis: 0 }),
  ]);
  let product = square;
  for (let count = 0; count < PRODUCTS; count += 1) product = graph.op('MatMul', [product, square]);

  const frames = SHIFT_FRAMES / SUBSAMPLING;
  const blank = Float32Array.from({ length: frames * 2 }, (_, index) => (index % 2 === 0 ? 0 : -9));
  const nothing = graph.op('Add', [
    graph.floats(blank, [1, frames, 2]),
    graph.op('ReduceMean', [product], { keepdims: 0 }),
  ]);
  graph.output('logprobs', nothing, 'float32', ['N', frames, 2]);
  graph.output('encoded_lengths', graph.op('Div', [length, graph.ints([SUBSAMPLING])]), 'int64', ['N']);
  graph.output('cache_last_channel_next', channel, 'float32', ['N', 1, 1, 1]);
  graph.output('cache_last_time_next', time, 'float32', ['N', 1, 1, 1]);
  graph.output('cache_last_channel_next_len', channelLength, 'int64', ['N']);
  graph.metadata({
    window_size: WINDOW_FRAMES,
    chunk_shift: SHIFT_FRAMES,
    subsampling_factor: SUBSAMPLING,
    vocab_size: 1,
    cache_last_channel_dim1: 1,
    cache_last_channel_dim2: 1,
    cache_last_channel_dim3: 1,
    cache_last_time_dim1: 1,
    cache_last_time_dim2: 1,
    cache_last_time_dim3: 1,
  });
  writeFileSync(join(folder, 'model.onnx'), graph.build());
  writeTokens(folder, ['响', '<blk>']);
}
