import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OnnxGraph, type Shape, type Value } from './graph.ts';
import { HISTORY, Zipformer2Shell } from './zipformer2-shell.ts';

/** Frames after which the echo is said. */
export const ECHO_DELAY_FRAMES = 56;
const ECHO_SYMBOLS = ['<blk>', '响'] as const;

const SUBSAMPLING = 4;
/** A mean log-mel energy above this is loud. */
export const LOUD = -9;

/**
 * Writes a model that says 响 for every loud frame, a fixed time after it received it: what it has not said yet is in its states.
 * @param encoderDim what a transducer's encoder declares as the size of a frame, whatever it is in a run.
 */
export function writeEchoModel(
  folder: string,
  family: 'zipformer2-ctc' | 'zipformer2-transducer',
  chunkFrames: number,
  encoderDim?: Shape[number],
): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tokens.txt'), ECHO_SYMBOLS.map((symbol, id) => `${symbol} ${id}\n`).join(''));
  const write = (name: string, bytes: Uint8Array): void => writeFileSync(join(folder, name), bytes);
  switch (family) {
    case 'zipformer2-ctc':
      write('model.onnx', echo(chunkFrames, 'log_probs'));
      return;
    case 'zipformer2-transducer':
      write('encoder.onnx', echo(chunkFrames, 'encoder_out', { declaredDim: encoderDim }));
      write('decoder.onnx', silentDecoder().build());
      write('joiner.onnx', sumJoiner().build());
      return;
    default:
      family satisfies never;
  }
}

/** A model whose run fails in every step with a loud frame in it: the graph reads beyond the end of a table. */
export function writeFailingModel(folder: string, chunkFrames: number): void {
  writeEchoModel(folder, 'zipformer2-ctc', chunkFrames);
  const check = (graph: OnnxGraph, loudness: Value): Value => {
    const loudest = graph.op('ReduceMax', [loudness], { axes: [1], keepdims: 0 });
    const row = graph.op('Cast', [graph.op('Greater', [loudest, graph.float(LOUD)])], { to: 7 });
    const zero = graph.op('Gather', [graph.floats(Float32Array.of(0), [1]), row]);
    return graph.op('Add', [loudness, zero]);
  };
  writeFileSync(join(folder, 'model.onnx'), echo(chunkFrames, 'log_probs', { check }));
}

interface EchoOptions {
  readonly declaredDim?: Shape[number] | undefined;
  readonly check?: (graph: OnnxGraph, loudness: Value) => Value;
}

function echo(
  chunkFrames: number,
  outputName: string,
  { declaredDim, check = (_, loudness) => loudness }: EchoOptions = {},
): Uint8Array {
  const graph = new OnnxGraph();
  const shell = new Zipformer2Shell(graph, chunkFrames, ECHO_DELAY_FRAMES);
  const slice = (x: Value, start: number, end: number): Value =>
    graph.op('Slice', [x, graph.ints([start]), graph.ints([end]), graph.ints([1])]);
  const loudness = check(graph, graph.op('ReduceMean', [shell.x], { axes: [2], keepdims: 0 }));
  const loud = graph.op('Cast', [graph.op('Greater', [loudness, graph.float(LOUD)])], { to: 1 });
  const history = graph.op('Squeeze', [slice(HISTORY, 0, 1), graph.ints([1])]);
  const all = graph.op('Concat', [history, slice(loud, 0, chunkFrames)], { axis: 1 });
  const grouped = graph.op('Reshape', [
    slice(all, 0, chunkFrames),
    graph.ints([-1, chunkFrames / SUBSAMPLING, SUBSAMPLING]),
  ]);
  const said = graph.op('ReduceMax', [grouped], { axes: [2], keepdims: 1 });
  const silent = graph.op('Sub', [graph.float(1), said]);
  const scores = graph.op('Concat', [silent, said], { axis: 2 });
  const frames = declaredDim === undefined ? scores : graph.withOpenShape(scores, 'processed_lens');
  const shape = ['N', chunkFrames / SUBSAMPLING, declaredDim ?? ECHO_SYMBOLS.length];
  const next = shell.inEachChannel(slice(all, chunkFrames, chunkFrames + ECHO_DELAY_FRAMES));
  shell.declare({ name: outputName, value: frames, shape }, { [HISTORY]: { value: next } });
  return graph.build();
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
