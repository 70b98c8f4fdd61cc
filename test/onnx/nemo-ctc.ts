import { OnnxGraph } from './graph.ts';
import { LinearLayers, Weights } from './weights.ts';

export interface NemoCtcOptions {
  readonly windowFrames: number;
  readonly shiftFrames: number;
  readonly vocabularySize: number;
  readonly seed: number;
  readonly weightsAreInputs?: boolean;
  /** Whether the graph leaves open how many tokens it scores. */
  readonly isOpen?: boolean;
}

const BINS = 80;
const DIM = 24;
const SUBSAMPLING = 4;
/** (layers, places, channels) of the two caches. */
const LAST_CHANNEL = [2, 5, 6] as const;
const LAST_TIME = [2, 4, 3] as const;

/** A small network with the inputs and outputs of NeMo's streaming CTC export: every frame and every state weighs in. */
export function buildNemoCtc(options: NemoCtcOptions): Uint8Array {
  const { windowFrames, shiftFrames, vocabularySize } = options;
  const graph = new OnnxGraph();
  const weights = new Weights(options.seed);
  const layers = new LinearLayers(graph, weights, false);
  const frames = shiftFrames / SUBSAMPLING;
  const channelSize = LAST_CHANNEL[0] * LAST_CHANNEL[1] * LAST_CHANNEL[2];
  const timeSize = LAST_TIME[0] * LAST_TIME[1] * LAST_TIME[2];

  const signal = graph.input('audio_signal', 'float32', ['N', BINS, windowFrames]);
  const length = graph.input('length', 'int64', ['N']);
  const lastChannel = graph.input('cache_last_channel', 'float32', ['N', ...LAST_CHANNEL]);
  const lastTime = graph.input('cache_last_time', 'float32', ['N', ...LAST_TIME]);
  const channelLength = graph.input('cache_last_channel_len', 'int64', ['N']);

  const rows = graph.op('Transpose', [signal], { perm: [0, 2, 1] });
  const scaled = graph.op('Mul', [graph.op('Add', [rows, graph.float(6)]), graph.float(0.25)]);
  const mixing = graph.floats(weights.normals(frames * windowFrames, 3 / Math.sqrt(windowFrames)), [
    frames,
    windowFrames,
  ]);
  const present = layers.linear(graph.op('MatMul', [mixing, scaled]), BINS, DIM);
  const flat = (value: string, size: number): string =>
    graph.op('Reshape', [value, graph.ints([-1, 1, size])]);
  const steps = graph.op('Reshape', [graph.op('Cast', [channelLength], { to: 1 }), graph.ints([-1, 1, 1])]);
  const phase = graph.op('Sin', [
    graph.op('Mul', [steps, graph.floats(weights.normals(DIM, 1), [1, 1, DIM])]),
  ]);
  const past = graph.op('Add', [
    layers.product(flat(lastChannel, channelSize), channelSize, DIM, 1.5),
    layers.product(flat(lastTime, timeSize), timeSize, DIM, 1.5),
  ]);
  const hidden = graph.op('Tanh', [graph.op('Add', [graph.op('Add', [present, past]), phase])]);
  const scores = layers.linear(hidden, DIM, vocabularySize, 3);
  const logProbs = graph.op('LogSoftmax', [scores], { axis: -1 });
  if (options.isOpen) {
    graph.output('logprobs', graph.withOpenShape(logProbs, length), 'float32', ['N', 'T', 'V']);
  } else {
    graph.output('logprobs', logProbs, 'float32', ['N', frames, vocabularySize]);
  }
  const subsampled = graph.op('Div', [length, graph.ints([SUBSAMPLING])]);
  graph.output('encoded_lengths', subsampled, 'int64', ['N']);

  const mean = graph.op('ReduceMean', [hidden], { axes: [1], keepdims: 0 });
  const next = (cache: string, size: number, shape: readonly number[]): string => {
    const update = graph.op('Reshape', [layers.product(mean, DIM, size, 2), graph.ints([-1, ...shape])]);
    return graph.op('Tanh', [graph.op('Add', [graph.op('Mul', [cache, graph.float(0.5)]), update])]);
  };
  graph.output('cache_last_channel_next', next(lastChannel, channelSize, LAST_CHANNEL), 'float32', [
    'N',
    ...LAST_CHANNEL,
  ]);
  graph.output('cache_last_time_next', next(lastTime, timeSize, LAST_TIME), 'float32', ['N', ...LAST_TIME]);
  graph.output('cache_last_channel_next_len', graph.op('Add', [channelLength, subsampled]), 'int64', ['N']);
  graph.metadata({
    window_size: windowFrames,
    chunk_shift: shiftFrames,
    subsampling_factor: SUBSAMPLING,
    vocab_size: vocabularySize - 1,
    normalize_type: 'NA',
    cache_last_channel_dim1: LAST_CHANNEL[0],
    cache_last_channel_dim2: LAST_CHANNEL[1],
    cache_last_channel_dim3: LAST_CHANNEL[2],
    cache_last_time_dim1: LAST_TIME[0],
    cache_last_time_dim2: LAST_TIME[1],
    cache_last_time_dim3: LAST_TIME[2],
  });
  return graph.build(options);
}
