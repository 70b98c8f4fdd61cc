import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOUD } from './echo.ts';
import { OnnxGraph, type Value } from './graph.ts';
import { HISTORY, Zipformer2Shell } from './zipformer2-shell.ts';

/** What is wrong with the model: all of it is there and fits its metadata, and only what comes out shows it. */
export type Fault =
  | 'scores are NaN'
  | 'scores are int64'
  | 'scores are too few'
  | 'scores are too few when it is loud'
  | 'states grow';

const CHUNK_FRAMES = 16;
const SYMBOLS = ['<blk>', '是'] as const;

/** Writes a streaming CTC model that says 是 in its first output frame, if nothing is wrong with it. */
export function writeFaultyModel(folder: string, fault: Fault | undefined): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tokens.txt'), SYMBOLS.map((symbol, id) => `${symbol} ${id}\n`).join(''));
  const graph = new OnnxGraph();
  const shell = new Zipformer2Shell(graph, CHUNK_FRAMES);

  // Makes 0 of every batch entry, or NaN, as one damaged weight does.
  const factor = graph.float(fault === 'scores are NaN' ? Number.POSITIVE_INFINITY : 0);
  const mean = graph.op('ReduceMean', [shell.x], { axes: [1, 2], keepdims: 1 });
  const zero = graph.op('Mul', [graph.op('Mul', [mean, graph.float(0)]), factor]);
  const frame = graph.floats(Float32Array.of(0, 1), [1, 1, SYMBOLS.length]);
  const all = graph.op('Add', [zero, frame]);
  const isShort = fault === 'scores are too few' || fault === 'scores are too few when it is loud';
  const scores = isShort ? withoutLast(graph, all, mean, fault === 'scores are too few') : all;
  const isInt64 = fault === 'scores are int64';
  const grown = { value: graph.op('Concat', [HISTORY, HISTORY], { axis: 2 }), shape: ['N', 4, 2] };
  shell.declare(
    {
      name: 'log_probs',
      value: isInt64 ? graph.op('Cast', [scores], { to: 7 }) : scores,
      type: isInt64 ? 'int64' : 'float32',
      shape: ['N', 1, SYMBOLS.length],
    },
    fault === 'states grow' ? { [HISTORY]: grown } : {},
  );
  writeFileSync(join(folder, 'model.onnx'), graph.build());
}

/** The scores without the last one, always or when it is loud: nobody knows how many these are who only reads the graph. */
function withoutLast(graph: OnnxGraph, scores: Value, mean: Value, always: boolean): Value {
  const isShort = graph.op('Greater', [mean, graph.float(always ? Number.NEGATIVE_INFINITY : LOUD)]);
  const left = graph.op('Reshape', [graph.op('Cast', [isShort], { to: 7 }), graph.ints([-1])]);
  const end = graph.op('Sub', [graph.ints([SYMBOLS.length]), left]);
  return graph.op('Slice', [scores, graph.ints([0]), end, graph.ints([2])]);
}
