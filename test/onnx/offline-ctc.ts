import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OnnxGraph, type Value } from './graph.ts';
import { writeTokens } from './model-folder.ts';
import { TransformerBlocks } from './transformer-blocks.ts';
import { Weights } from './weights.ts';

const BINS = 80;
const WIDTH = 32;
const LAYERS = 2;
/** As Zipformer's front end, which makes (frames − 7) / 2 of them: no edge is padded. */
const KERNEL = 9;
const NEVER = -100;

export interface SmallOfflineCtc {
  readonly int8?: boolean;
  readonly symbols: readonly string[];
  /** Rows at the end that are no part of the text, as the lengths say. */
  readonly surplusRows?: number;
}

/** Writes a small offline CTC model in the form of icefall's export, `<blk>` first. @returns the name of its graph. */
export function writeSmallOfflineCtc(folder: string, small: SmallOfflineCtc): string {
  writeTokens(folder, small.symbols);
  const name = small.int8 ? 'model.int8.onnx' : 'model.onnx';
  writeFileSync(join(folder, name), buildOfflineCtc(small));
  return name;
}

/** Convolutions to half the frames, a small transformer, and every second of its rows. */
function buildOfflineCtc({ int8 = false, symbols, surplusRows = 0 }: SmallOfflineCtc): Uint8Array {
  const graph = new OnnxGraph();
  const weights = new Weights(3);
  const size = { width: WIDTH, heads: 2, layers: LAYERS, vocabularySize: symbols.length };
  const blocks = new TransformerBlocks(graph, weights, size, int8);
  const turned = (value: Value): Value => graph.op('Transpose', [value], { perm: [0, 2, 1] });

  const x = graph.input('x', 'float32', ['N', 'T', BINS]);
  const lengths = graph.input('x_lens', 'int64', ['N']);
  const near = graph.op('Mul', [graph.op('Add', [x, graph.float(6)]), graph.float(0.25)]);
  const filter = graph.floats(weights.normals(WIDTH * BINS * KERNEL, 2 / Math.sqrt(BINS * KERNEL)), [
    WIDTH,
    BINS,
    KERNEL,
  ]);
  const front = graph.op('Conv', [turned(near), filter], { kernel_shape: [KERNEL], strides: [2] });
  let y = blocks.gelu(turned(front));
  for (let layer = 0; layer < LAYERS; layer++) {
    const normal = blocks.norm(y);
    y = blocks.feedForward(blocks.attention(y, normal, blocks.linear(normal), blocks.linear(normal)));
  }
  const [zero, end, axis, two] = [0, 2 ** 31 - 1, 1, 2].map((value) => graph.ints([value]));
  const halved = graph.op('Slice', [y, zero ?? '', end ?? '', axis ?? '', two ?? '']);
  // sherpa-onnx would write the other special symbols as words.
  const bias = Float32Array.from(symbols, (symbol, id) => (id === 0 ? 2 : /^<\D/.test(symbol) ? NEVER : 0));
  const scores = blocks.add(blocks.scores(blocks.norm(halved)), graph.floats(bias, [symbols.length]));
  const logProbs = graph.op('LogSoftmax', [scores], { axis: -1 });
  graph.output('log_probs', logProbs, 'float32', ['N', 'T_out', symbols.length]);
  // ((T − 7) / 2 + 1) / 2
  const half = graph.op('Div', [graph.op('Sub', [lengths, graph.ints([5])]), graph.ints([4])]);
  const rows = graph.op('Max', [graph.op('Sub', [half, graph.ints([surplusRows])]), graph.ints([0])]);
  graph.output('log_probs_len', rows, 'int64', ['N']);
  graph.metadata({
    model_type: 'zipformer2_ctc',
    version: 1,
    model_author: 'k2-fsa',
    comment: 'non-streaming zipformer2 CTC',
  });
  return graph.build();
}
