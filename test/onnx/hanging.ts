import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOUD } from './echo.ts';
import { OnnxGraph } from './graph.ts';
import { writeTokens } from './model-folder.ts';
import { Zipformer2Shell } from './zipformer2-shell.ts';

const CHUNK_FRAMES = 16;
/** Each product of two such square matrices is 10¹² operations, many seconds of any core. */
const SIZE = 8_000;
const PRODUCTS = 20;

/**
 * A CTC model that loads, and says nothing of silence; of anything louder its run does not come back within minutes.
 * @param matrixSize smaller: it comes back, after a time that grows with its cube
 */
export function writeHangingModel(folder: string, matrixSize = SIZE): void {
  const graph = new OnnxGraph();
  const shell = new Zipformer2Shell(graph, CHUNK_FRAMES);
  const energy = graph.op('ReduceMean', [shell.x], { keepdims: 0 });
  const isLoud = graph.op('Cast', [graph.op('Greater', [energy, graph.float(LOUD)])], { to: 7 });
  const size = graph.op('Add', [graph.op('Mul', [isLoud, graph.ints([matrixSize - 1])]), graph.ints([1])]);
  const square = graph.op('Expand', [
    graph.op('Mul', [energy, graph.float(0)]),
    graph.op('Concat', [size, size], { axis: 0 }),
  ]);
  let product = square;
  for (let count = 0; count < PRODUCTS; count += 1) product = graph.op('MatMul', [product, square]);
  const nothing = graph.op('Add', [
    graph.floats(Float32Array.of(0, -9), [1, 1, 2]),
    graph.op('ReduceMean', [product], { keepdims: 0 }),
  ]);
  shell.declare({ name: 'log_probs', value: nothing, shape: ['N', 1, 2] });
  writeFileSync(join(folder, 'model.onnx'), graph.build());
  writeTokens(folder, ['<blk>', '响']);
}
