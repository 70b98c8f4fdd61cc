import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DataType, OnnxGraph } from '../../../../onnx/graph.ts';
import { writeTokens } from '../../../../onnx/model-folder.ts';
import { testFolder } from '../../../../support/machine/folders.ts';

const ROW_VALUES = 560;
const WIDTH = 8;
export const TOKENS = ['<blank>', '<s>', '</s>', '<unk>'] as const;
const STACKING = {
  lfr_window_size: 7,
  lfr_window_shift: 6,
  neg_mean: new Array<number>(ROW_VALUES).fill(-8.5),
  inv_stddev: new Array<number>(ROW_VALUES).fill(0.15),
  vocab_size: TOKENS.length,
};
type Metadata = Record<string, string | number | readonly number[]>;

/** What is wrong with a model; of each family, what it has. */
export interface Oddity {
  readonly metadata?: Metadata;
  /** A key of the metadata. */
  readonly without?: string;
  readonly rowValues?: number;
  readonly lengths?: DataType;
  readonly moreInputs?: readonly string[];
  /** Values of a row of output 0. */
  readonly outputSize?: number | string;
  /** Of a decoder. */
  readonly decoderWidth?: number;
  readonly scores?: number;
  readonly idType?: DataType;
  readonly outputCaches?: number;
  readonly tokens?: readonly string[];
}

/** The interface of a SenseVoice of four tokens, and no weights. */
export function senseVoice(odd: Oddity): string {
  const graph = new OnnxGraph();
  const x = graph.input('x', 'float32', ['N', 'T', odd.rowValues ?? ROW_VALUES]);
  graph.input('x_length', odd.lengths ?? 'int32', ['N']);
  for (const name of ['language', 'text_norm']) graph.input(name, 'int32', ['N']);
  graph.output('logits', x, 'float32', ['N', 'T', odd.outputSize ?? TOKENS.length]);
  const own = { model_type: 'sense_voice_ctc', normalize_samples: 0, lang_zh: 3, with_itn: 14 };
  return written({ 'model.onnx': withMetadata(graph, { ...STACKING, ...own }, odd) }, odd);
}

/** The interface of a Paraformer of four tokens that hears nothing. */
export function paraformer(odd: Oddity): string {
  const { graph, x } = paraformerInputs(odd);
  graph.output('logits', x, 'float32', ['N', 'U', odd.outputSize ?? TOKENS.length]);
  return written({ 'model.onnx': withMetadata(graph, STACKING, odd) }, odd);
}

/** The same of a streaming one. */
export function streamingParaformer(odd: Oddity): string {
  const sizes = { encoder_output_size: WIDTH, decoder_num_blocks: 2, decoder_kernel_size: 11 };
  const { graph, x } = paraformerInputs(odd);
  graph.output('enc', firstColumns(graph, x, WIDTH), 'float32', ['N', 'T', odd.outputSize ?? WIDTH]);
  graph.output('enc_len', 'speech_lengths', 'int32', ['N']);
  const zeros = graph.op('Mul', [firstColumns(graph, x, 1), graph.float(0)]);
  graph.output('alphas', graph.op('Squeeze', [zeros, graph.ints([2])]), 'float32', ['N', 'T']);
  const encoder = withMetadata(graph, { ...STACKING, ...sizes }, odd);
  return written({ 'encoder.onnx': encoder, 'decoder.onnx': paraformerDecoder(odd) }, odd);
}

function paraformerInputs(odd: Oddity): { graph: OnnxGraph; x: string } {
  const graph = new OnnxGraph();
  const x = graph.input('speech', 'float32', ['N', 'T', odd.rowValues ?? ROW_VALUES]);
  graph.input('speech_lengths', odd.lengths ?? 'int32', ['N']);
  for (const name of odd.moreInputs ?? []) graph.input(name, 'float32', ['N', 'T', WIDTH]);
  return { graph, x };
}

function paraformerDecoder(odd: Oddity): Uint8Array {
  const { decoderWidth = WIDTH, scores = TOKENS.length, idType = 'int64', outputCaches = 2 } = odd;
  const graph = new OnnxGraph();
  for (const name of ['enc', 'acoustic_embeds']) {
    graph.input(name, 'float32', ['N', 'U', decoderWidth]);
    graph.input(`${name}_len`, 'int32', ['N']);
  }
  const caches = [0, 1].map((i) => graph.input(`in_cache_${i}`, 'float32', ['N', decoderWidth, 10]));
  const said = firstColumns(graph, 'acoustic_embeds', TOKENS.length);
  graph.output('logits', said, 'float32', ['N', 'U', scores]);
  const best = graph.op('ArgMax', [said], { axis: 2, keepdims: 0 });
  const ids = graph.op('Cast', [best], { to: idType === 'int64' ? 7 : 6 });
  graph.output('sample_ids', ids, idType, ['N', 'U']);
  for (const [i, cache] of caches.slice(0, outputCaches).entries())
    graph.output(`out_cache_${i}`, cache, 'float32', ['N', decoderWidth, 10]);
  return graph.build();
}

/** The interface of an offline CTC model of four tokens. */
export function offlineCtc(odd: Oddity): string {
  const graph = new OnnxGraph();
  const x = graph.input('x', 'float32', ['N', 'T', odd.rowValues ?? 80]);
  graph.input('x_lens', odd.lengths ?? 'int64', ['N']);
  const scores = firstColumns(graph, x, TOKENS.length);
  const { outputSize = TOKENS.length } = odd;
  const given = typeof outputSize === 'string' ? graph.withOpenShape(scores, 'x_lens') : scores;
  graph.output('log_probs', given, 'float32', ['N', 'T', outputSize]);
  graph.output('log_probs_len', 'x_lens', odd.lengths ?? 'int64', ['N']);
  const type = { model_type: 'zipformer2_ctc', comment: 'non-streaming zipformer2 CTC' };
  return written({ 'model.onnx': withMetadata(graph, type, odd) }, odd);
}

function firstColumns(graph: OnnxGraph, x: string, count: number): string {
  return graph.op('Slice', [x, graph.ints([0]), graph.ints([count]), graph.ints([2])]);
}

function withMetadata(graph: OnnxGraph, own: Metadata, odd: Oddity): Uint8Array {
  const metadata = { ...own, ...odd.metadata };
  if (odd.without !== undefined) delete metadata[odd.without];
  graph.metadata(metadata);
  return graph.build();
}

function written(files: Readonly<Record<string, Uint8Array>>, odd: Oddity): string {
  const folder = testFolder();
  writeTokens(folder, odd.tokens ?? TOKENS);
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  return folder;
}
