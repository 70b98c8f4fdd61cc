import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BinaryReader, BinaryWriter, type WireType } from '@bufbuild/protobuf/wire';
import { whisperLayout } from '../../inference/engine/families/whisper/layout.ts';
import { type OnnxOutline, readOnnxOutline } from '../../inference/engine/onnx/onnx-reader.ts';
import { OnnxGraph, type Value } from './graph.ts';
import type { WhisperFiles } from './whisper.ts';

const GRAPH = 7;
const ENDS: readonly number[] = [11, 12];
const PARTS = ['k', 'v'] as const;

/**
 * Writes the bundled model's kind of Whisper as sherpa-onnx reads it: the same graphs, with all layers in one tensor at their
 * ends, and caches of a fixed length.
 */
export async function writeStackedWhisper(folder: string, files: WhisperFiles): Promise<WhisperFiles> {
  const encoder = await readOnnxOutline(files.encoder);
  const decoder = await readOnnxOutline(files.decoder);
  const stacked = {
    encoder: join(folder, 'encoder.onnx'),
    decoder: join(folder, 'decoder.onnx'),
    tokens: files.tokens,
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(stacked.encoder, withEnds(files.encoder, encoderEnds(encoder, decoder)));
  writeFileSync(stacked.decoder, withEnds(files.decoder, decoderEnds(encoder, decoder)));
  return stacked;
}

function encoderEnds(encoder: OnnxOutline, decoder: OnnxOutline): OnnxGraph {
  const graph = new OnnxGraph('ends_');
  const { melBins, audio } = whisperLayout(encoder, decoder);
  graph.input('mel', 'float32', ['n_audio', melBins, 'T']);
  for (const part of PARTS) {
    const layers = audio.filter((name) => name.startsWith(`cross_${part}`));
    graph.output(`n_layer_cross_${part}`, stackedValues(graph, layers), 'float32', ['l', 'n', 'h', 'x', 'y']);
  }
  return graph;
}

function decoderEnds(encoder: OnnxOutline, decoder: OnnxOutline): OnnxGraph {
  const graph = new OnnxGraph('ends_');
  const { audio, caches, textContext, vocabularySize } = whisperLayout(encoder, decoder);
  const [, heads = 0, , size = 0] = caches[0]?.spec.shape ?? [];
  const layers = caches.length / 2;
  const cacheShape = [layers, 'n_audio', textContext, heads * size];
  const tokens = graph.input('tokens', 'int64', ['n_audio', 'n_tokens']);
  const past = PARTS.map((part) => graph.input(`in_n_layer_self_${part}_cache`, 'float32', cacheShape));
  const cross = PARTS.map((part) =>
    graph.input(`n_layer_cross_${part}`, 'float32', ['l', 'n', 'h', 'x', 'y']),
  );
  const offset = graph.input('offset', 'int64', [1]);
  const ints = (...values: number[]): Value => graph.ints(values);
  const shape = graph.op('Shape', [tokens]);
  const sizeOf = (axis: number): Value => graph.op('Slice', [shape, ints(axis), ints(axis + 1)]);
  const [zero, rows, one] = [ints(0), sizeOf(0), ints(1)].map((value) =>
    graph.op('Squeeze', [value, ints(0)]),
  );
  graph.named('parents', graph.op('Range', [zero ?? '', rows ?? '', one ?? '']));
  const end = graph.op('Add', [offset, sizeOf(1)]);
  graph.output('logits', 'logits', 'float32', ['n_audio', 'n_tokens', vocabularySize]);
  for (const [i, part] of PARTS.entries()) {
    const used = graph.op('Slice', [past[i] ?? '', ints(0), offset, ints(2)]);
    const apart = graph.op('Reshape', [used, ints(0, 0, -1, heads, size)]);
    const inHeads = graph.op('Transpose', [apart], { perm: [0, 1, 3, 2, 4] });
    const names = caches.map(({ spec }) => spec.name).filter((name) => name.startsWith(`self_${part}`));
    nameLayers(graph, inHeads, names);
    nameLayers(
      graph,
      cross[i] ?? '',
      audio.filter((name) => name.startsWith(`cross_${part}`)),
    );
    const all = stackedValues(
      graph,
      names.map((name) => `out_${name}`),
    );
    const together = graph.op('Transpose', [all], { perm: [0, 1, 3, 2, 4] });
    const rest = graph.op('Slice', [past[i] ?? '', end, ints(textContext), ints(2)]);
    const written = graph.op('Reshape', [together, ints(0, 0, -1, heads * size)]);
    const next = graph.op('Concat', [written, rest], { axis: 2 });
    graph.output(`out_n_layer_self_${part}_cache`, next, 'float32', cacheShape);
  }
  return graph;
}

function stackedValues(graph: OnnxGraph, layers: readonly Value[]): Value {
  const unsqueezed = layers.map((layer) => graph.op('Unsqueeze', [layer, graph.ints([0])]));
  return graph.op('Concat', unsqueezed, { axis: 0 });
}

function nameLayers(graph: OnnxGraph, all: Value, names: readonly Value[]): void {
  const layers = graph.ops('Split', [all], names.length, { axis: 0 });
  for (const [i, name] of names.entries())
    graph.named(name, graph.op('Squeeze', [layers[i] ?? '', graph.ints([0])]));
}

/** A model with other inputs and outputs. A field that comes twice is one message to protobuf. */
function withEnds(path: string, ends: OnnxGraph): Uint8Array {
  const model = new BinaryWriter();
  visit(readFileSync(path), (number, reader, wireType) => {
    model.tag(number, wireType);
    if (number === GRAPH) model.bytes(withoutEnds(reader.bytes()));
    else model.raw(reader.skip(wireType));
  });
  visit(ends.build(), (number, reader, wireType) => {
    if (number === GRAPH) model.tag(number, wireType).bytes(reader.bytes());
    else reader.skip(wireType);
  });
  return model.finish();
}

function withoutEnds(graph: Uint8Array): Uint8Array {
  const kept = new BinaryWriter();
  visit(graph, (number, reader, wireType) => {
    const field = reader.skip(wireType);
    if (!ENDS.includes(number)) kept.tag(number, wireType).raw(field);
  });
  return kept.finish();
}

/** `onField` reads or skips each. */
function visit(
  bytes: Uint8Array,
  onField: (number: number, reader: BinaryReader, wireType: WireType) => void,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    onField(number, reader, wireType);
  }
}
