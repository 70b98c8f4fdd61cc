import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type DataType, OnnxGraph } from '../../../../onnx/graph.ts';
import { writeTokens } from '../../../../onnx/model-folder.ts';
import { testFolder } from '../../../../support/folders.ts';
import { loadError } from '../broken-models.ts';

const ROW_VALUES = 560;
const WIDTH = 8;
const TOKENS = ['<blank>', '<s>', '</s>', '<unk>'] as const;

const OFFLINE = {
  model_type: 'paraformer',
  lfr_window_size: 7,
  lfr_window_shift: 6,
  neg_mean: new Array<number>(ROW_VALUES).fill(-8.5),
  inv_stddev: new Array<number>(ROW_VALUES).fill(0.15),
  vocab_size: TOKENS.length,
} as const;
const STREAMING = {
  ...OFFLINE,
  encoder_output_size: WIDTH,
  decoder_num_blocks: 2,
  decoder_kernel_size: 11,
} as const;
type Metadata = Record<string, string | number | readonly number[]>;

interface Oddity {
  readonly metadata?: Metadata;
  readonly without?: string;
  readonly rowValues?: number;
  readonly lengths?: DataType;
  readonly moreInputs?: readonly string[];
  /** Values of a row of output 0. */
  readonly outputSize?: number;
  /** Of the decoder. */
  readonly decoderWidth?: number;
  readonly scores?: number;
  readonly idType?: DataType;
  readonly outputCaches?: number;
  readonly tokens?: readonly string[];
}

/** The interface of a Paraformer of four tokens that hears nothing, or of a streaming one's encoder. */
function firstGraph(all: Metadata, outputs: (graph: OnnxGraph, x: string) => void, odd: Oddity): Uint8Array {
  const graph = new OnnxGraph();
  const x = graph.input('speech', 'float32', ['N', 'T', odd.rowValues ?? ROW_VALUES]);
  graph.input('speech_lengths', odd.lengths ?? 'int32', ['N']);
  for (const name of odd.moreInputs ?? []) graph.input(name, 'float32', ['N', 'T', WIDTH]);
  outputs(graph, x);
  const metadata: Metadata = { ...all, ...odd.metadata };
  if (odd.without !== undefined) delete metadata[odd.without];
  graph.metadata(metadata);
  return graph.build();
}

const firstColumns = (graph: OnnxGraph, x: string, count: number): string =>
  graph.op('Slice', [x, graph.ints([0]), graph.ints([count]), graph.ints([2])]);

function offline(odd: Oddity): string {
  const folder = testFolder();
  writeTokens(folder, odd.tokens ?? TOKENS);
  const outputs = (graph: OnnxGraph, x: string): void =>
    graph.output('logits', x, 'float32', ['N', 'U', odd.outputSize ?? TOKENS.length]);
  writeFileSync(join(folder, 'model.onnx'), firstGraph(OFFLINE, outputs, odd));
  return folder;
}

function streaming(odd: Oddity): string {
  const folder = testFolder();
  writeTokens(folder, odd.tokens ?? TOKENS);
  const outputs = (graph: OnnxGraph, x: string): void => {
    graph.output('enc', firstColumns(graph, x, WIDTH), 'float32', ['N', 'T', odd.outputSize ?? WIDTH]);
    graph.output('enc_len', 'speech_lengths', 'int32', ['N']);
    const zeros = graph.op('Mul', [firstColumns(graph, x, 1), graph.float(0)]);
    graph.output('alphas', graph.op('Squeeze', [zeros, graph.ints([2])]), 'float32', ['N', 'T']);
  };
  writeFileSync(join(folder, 'encoder.onnx'), firstGraph(STREAMING, outputs, odd));
  const { decoderWidth = WIDTH, scores = TOKENS.length, idType = 'int64', outputCaches = 2 } = odd;
  const graph = new OnnxGraph();
  for (const name of ['enc', 'acoustic_embeds']) {
    graph.input(name, 'float32', ['N', 'U', decoderWidth]);
    graph.input(`${name}_len`, 'int32', ['N']);
  }
  const caches = [0, 1].map((i) => graph.input(`in_cache_${i}`, 'float32', ['N', decoderWidth, 10]));
  const said = firstColumns(graph, 'acoustic_embeds', TOKENS.length);
  graph.output('logits', said, 'float32', ['N', 'U', scores]);
  const ids = graph.op('Cast', [graph.op('ArgMax', [said], { axis: 2, keepdims: 0 })], {
    to: idType === 'int64' ? 7 : 6,
  });
  graph.output('sample_ids', ids, idType, ['N', 'U']);
  for (const [i, cache] of caches.slice(0, outputCaches).entries())
    graph.output(`out_cache_${i}`, cache, 'float32', ['N', decoderWidth, 10]);
  writeFileSync(join(folder, 'decoder.onnx'), graph.build());
  return folder;
}

const integer = (min: number, max: number): string => `an integer from ${min} to ${max}`;
const COMMON = [
  ['lfr_window_size', integer(1, 3000)],
  ['lfr_window_shift', integer(1, 7)],
  ['neg_mean', '560 numbers'],
  ['inv_stddev', '560 numbers'],
  ['vocab_size', integer(1, 1_000_000)],
] as const;

describe('a Paraformer is refused', () => {
  test.each(COMMON)('without metadata %s', async (key, expected) => {
    expect(await loadError(offline({ without: key }))).toBe(
      `model.onnx: found no metadata ${key}, expected ${expected}`,
    );
  });

  test.each<[what: string, odd: Oddity, message: string]>([
    [
      'whose rows are not as wide as the metadata says',
      { rowValues: 80 },
      'model.onnx: input "speech" is float32 ["N", "T", 80], expected float32 [1, 1, 560]',
    ],
    [
      'of another type of number',
      { lengths: 'int64' },
      'model.onnx: input "speech_lengths" is int64 ["N"], expected int32 [1]',
    ],
    [
      'that takes hot words, too',
      { moreInputs: ['bias_embed'] },
      'model.onnx: found 3 inputs, expected 2 by its family and metadata',
    ],
    [
      'that gives scores for another number of tokens',
      { outputSize: 560 },
      'model.onnx: metadata vocab_size is 4, expected 560 as in the output of model.onnx',
    ],
    [
      'whose tokens are fewer than its scores',
      { tokens: TOKENS.slice(0, 3) },
      'tokens.txt: found no symbol for id 3, expected ids 0 to 3 as in the output of model.onnx',
    ],
  ])('%s', async (_what, odd, message) => {
    expect(await loadError(offline(odd))).toBe(message);
  });
});

describe('a streaming Paraformer is refused', () => {
  test.each([
    ...COMMON,
    ['encoder_output_size', integer(1, 1_000_000)],
    ['decoder_num_blocks', integer(1, 1000)],
    ['decoder_kernel_size', integer(2, 1_000_000)],
  ] as const)('without metadata %s', async (key, expected) => {
    expect(await loadError(streaming({ without: key }))).toBe(
      `encoder.onnx: found no metadata ${key}, expected ${expected}`,
    );
  });

  test.each<[what: string, odd: Oddity, message: string | RegExp]>([
    [
      'whose encoder takes hot words, too',
      { moreInputs: ['bias_embed'] },
      'encoder.onnx: found 3 inputs, expected 2 by its family and metadata',
    ],
    [
      'whose decoder is that of a wider one',
      { decoderWidth: 16 },
      'decoder.onnx: input "enc" is float32 ["N", "U", 16], expected float32 [1, 1, 8]',
    ],
    [
      'whose caches are not as long as the metadata says',
      { metadata: { decoder_kernel_size: 9 } },
      'decoder.onnx: input "in_cache_0" is float32 ["N", 8, 10], expected float32 [1, 8, 8]',
    ],
    [
      'whose caches are fewer',
      { metadata: { decoder_num_blocks: 3 } },
      'decoder.onnx: found 6 inputs, expected 7 by its family and metadata',
    ],
    [
      'whose decoder leaves a cache out',
      { outputCaches: 1 },
      'decoder.onnx: found 3 outputs, expected 4: scores, ids and one for each of 2 caches',
    ],
    [
      'whose decoder is that of another vocabulary',
      { scores: 5 },
      'encoder.onnx: metadata vocab_size is 4, expected 5 as in the output of decoder.onnx',
    ],
    [
      'whose encoder gives other rows than the metadata says',
      { outputSize: 6 },
      'encoder.onnx: metadata encoder_output_size is 8, expected 6 as in the output of encoder.onnx',
    ],
    [
      'whose tokens are fewer than its scores',
      { tokens: TOKENS.slice(0, 3) },
      'tokens.txt: found no symbol for id 3, expected ids 0 to 3 as in the output of decoder.onnx',
    ],
    [
      'whose decoder, which silence does not reach, fails',
      { idType: 'int32' },
      /a run on silence failed \(decoder\.onnx: output 1 is int32, expected int64\), expected a model that runs$/,
    ],
  ])('%s', async (_what, odd, message) => {
    const found = await loadError(streaming(odd));
    if (typeof message === 'string') expect(found).toBe(message);
    else expect(found).toMatch(message);
  });
});
