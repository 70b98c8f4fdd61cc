import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, test } from 'vitest';
import type { ModelMetadata } from '../../../../../inference/engine/onnx/model-metadata.ts';
import { readOnnxOutline } from '../../../../../inference/engine/onnx/onnx-reader.ts';
import { ModelLoadError } from '../../../../../inference/recognizer.ts';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { SMALL_CTC } from '../../../../support/audio/fixtures.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';

const workDir = fileFolder();

function modelFile(name: string, metadata: Record<string, string | number>): string {
  const graph = new OnnxGraph();
  graph.output('y', graph.input('x', 'float32', [1]), 'float32', [1]);
  graph.metadata(metadata);
  return file(name, graph.build());
}

function file(name: string, bytes: Uint8Array | string): string {
  const path = join(workDir, name);
  writeFileSync(path, bytes);
  return path;
}

async function readModelMetadata(path: string): Promise<ModelMetadata> {
  return (await readOnnxOutline(path)).metadata;
}

describe('the metadata of an ONNX file', () => {
  test('is read from the small CTC model', async () => {
    const metadata = await readModelMetadata(join(SMALL_CTC, 'model.onnx'));
    expect(metadata.integer('decode_chunk_len', 1, 100)).toBe(48);
    expect(metadata.text('model_type')).toBe('zipformer2');
    expect(metadata.text('no such key')).toBeUndefined();
  });

  test('gives integers and lists', async () => {
    const metadata = await readModelMetadata(modelFile('good.onnx', { one: 7, many: '1, 2,3' }));
    expect(metadata.integer('one', 7, 7)).toBe(7);
    expect(metadata.integers('many', 1, 3, 3)).toEqual([1, 2, 3]);
  });

  test.each(['1,2,3,', ',1,,2,3'])('takes %j as sherpa-onnx does', async (many) => {
    const metadata = await readModelMetadata(modelFile('commas.onnx', { many }));
    expect(metadata.integers('many', 1, 3)).toEqual([1, 2, 3]);
    expect(metadata.integers('many', 1, 3, 3)).toEqual([1, 2, 3]);
  });

  test.each(['', ','])('says that the list %j is none', async (many) => {
    const metadata = await readModelMetadata(modelFile('none.onnx', { many }));
    expect(() => metadata.integers('many', 1, 3)).toThrow(
      new ModelLoadError(
        `none.onnx: metadata many is "${many}", expected comma-separated integers from 1 to 3`,
      ),
    );
  });

  test.each([
    ['a number too large', { key: '9' }, 'metadata key is "9", expected an integer from 1 to 8'],
    ['no number', { key: 'x' }, 'metadata key is "x", expected an integer from 1 to 8'],
    ['nothing', {}, 'found no metadata key, expected an integer from 1 to 8'],
  ])('says what is wrong with %s', async (_, entries, message) => {
    const metadata = await readModelMetadata(modelFile('wrong.onnx', entries));
    expect(() => metadata.integer('key', 1, 8)).toThrow(new ModelLoadError(`wrong.onnx: ${message}`));
  });

  test.each([
    ['1,2', 2],
    ['1,2,3,4', 4],
  ])('says when the list %s is too short or too long', async (key, count) => {
    const metadata = await readModelMetadata(modelFile('list.onnx', { key }));
    expect(() => metadata.integers('key', 1, 8, 3)).toThrow(
      new ModelLoadError(`list.onnx: metadata key has ${count} values, expected 3 as in the other lists`),
    );
  });
});

test('the outline gives inputs and outputs', async () => {
  const { inputs, outputs } = await readOnnxOutline(join(SMALL_CTC, 'model.onnx'));
  expect(inputs).toHaveLength(9);
  expect(inputs[0]).toEqual({ name: 'x', type: 'float32', shape: ['N', 48, 80] });
  expect(inputs[5]).toEqual({ name: 'cached_conv1_0', type: 'float32', shape: ['N', 256, 235] });
  expect(inputs[8]).toEqual({ name: 'processed_lens', type: 'int64', shape: ['N'] });
  expect(outputs[0]).toEqual({ name: 'log_probs', type: 'float32', shape: ['N', 'T', 3211] });
  expect(outputs).toHaveLength(9);
});

test('sizes that a file leaves open, and weights that it lists among its inputs', async () => {
  const graph = new OnnxGraph();
  const x = graph.input('x', 'float32', ['N', -1, '', 0, 80]);
  graph.output('y', graph.op('Add', [x, graph.float(1)]), 'float32', ['N']);
  const { inputs } = await readOnnxOutline(file('open.onnx', graph.build({ weightsAreInputs: true })));
  expect(inputs).toEqual([{ name: 'x', type: 'float32', shape: ['N', '?', '?', 0, 80] }]);
});

test('fields of fixed sizes, which a newer ONNX may have, are skipped', async () => {
  const fixed = new BinaryWriter().tag(90, WireType.Bit64).fixed64(1).tag(91, WireType.Bit32).fixed32(1);
  const whole = readFileSync(modelFile('whole.onnx', { key: 'value' }));
  const path = file('newer.onnx', Buffer.concat([fixed.finish(), whole]));
  expect((await readModelMetadata(path)).text('key')).toBe('value');
});

test.skipIf(process.platform !== 'linux')('no file stays open', async () => {
  const path = modelFile('closed.onnx', {});
  await readOnnxOutline(path);
  writeFileSync(path, '');
  await expect(readOnnxOutline(path)).rejects.toThrow('without a graph');
  const opened = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return undefined; // what the list itself was read through
    }
  });
  expect(opened).not.toContain(path);
});

test.each([
  [1, 'float32'],
  [10, 'float16'],
  [16, 'bfloat16'],
  [17, 'element type 17'],
])('element type %i is %s', async (id, name) => {
  const outline = await readOnnxOutline(file('typed.onnx', inputOfType(id)));
  expect(outline.inputs).toEqual([{ name: 'x', type: name, shape: [] }]);
});

describe('a file that is no whole ONNX model is refused in one line', () => {
  test.each([
    [
      'missing',
      join(workDir, 'missing.onnx'),
      /missing\.onnx: cannot be read .*ENOENT.*, expected an ONNX model$/,
    ],
    ['a folder', workDir, /^\/.*: cannot be read \(EISDIR.*\), expected an ONNX model$/],
    ['empty', file('empty.onnx', ''), /^empty\.onnx: found 0 bytes without a graph, expected an ONNX model$/],
    [
      'text',
      file('text.onnx', 'version https://example.org/spec\n'),
      /^text\.onnx: found .*, expected an ONNX model$/,
    ],
    [
      'the pointer of Git LFS',
      file('lfs.onnx', 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 130158107\n'),
      /^\/.*\/lfs\.onnx: found the pointer that Git LFS .* run git lfs pull in its folder$/,
    ],
    ['a web page', file('page.onnx', '<!DOCTYPE html><html>'), /^page\.onnx: found .*$/],
    [
      'a huge metadata entry',
      file('huge.onnx', hugeEntry()),
      /^huge\.onnx: found a metadata entry of 2\d+ bytes/,
    ],
    [
      'a damaged metadata entry',
      file('bad.onnx', damagedEntry()),
      /^bad\.onnx: found a damaged metadata entry/,
    ],
    ['a pipe', pipe('pipe.onnx'), /^\/.*: cannot be read \(not a regular file\), expected an ONNX model$/],
    [
      'more inputs than a model has',
      file('many.onnx', manyInputs()),
      /^many\.onnx: found over 10000 inputs or outputs, expected some hundred at most$/,
    ],
    ['a damaged input', file('in.onnx', damagedInput()), /^in\.onnx: found a damaged input or output \(/],
  ])('%s', async (_, path, message) => {
    const error: unknown = await readModelMetadata(path).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ModelLoadError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).not.toContain('\n');
  });

  test('truncated anywhere', async () => {
    const whole = readFileSync(modelFile('whole.onnx', { key: 'value' }));
    for (let bytes = whole.length - 1; bytes > 0; bytes -= 3) {
      const read = await readModelMetadata(file('cut.onnx', whole.subarray(0, bytes))).catch(
        (cause: unknown) => cause,
      );
      // A cut between two fields behind the graph cannot be told from a file with less metadata.
      if (read instanceof Error) expect(read).toBeInstanceOf(ModelLoadError);
      else expect((read as ModelMetadata).text('key')).toBeUndefined();
    }
    const path = file('cut.onnx', whole.subarray(0, -2));
    await expect(readModelMetadata(path)).rejects.toThrow(
      `cut.onnx: found ${whole.length - 2} bytes, expected at least ${whole.length}: the file is truncated, copy or download it again`,
    );
  });
});

function pipe(name: string): string {
  const path = join(workDir, name);
  execFileSync('mkfifo', [path]);
  return path;
}

function manyInputs(): Uint8Array {
  const graph = new OnnxGraph();
  for (let i = 0; i <= 10_000; i++) graph.input(`x${i}`, 'float32', [1]);
  return graph.build();
}

function hugeEntry(): Uint8Array {
  return new BinaryWriter()
    .tag(14, WireType.LengthDelimited)
    .bytes(new Uint8Array(2 << 20))
    .finish();
}

function damagedEntry(): Uint8Array {
  return new BinaryWriter()
    .tag(14, WireType.LengthDelimited)
    .bytes(Uint8Array.of(0x0a, 0x7f, 1))
    .finish();
}

function damagedInput(): Uint8Array {
  const writer = new BinaryWriter().tag(7, WireType.LengthDelimited).fork();
  return writer
    .tag(11, WireType.LengthDelimited)
    .bytes(Uint8Array.of(0x0a, 0x7f, 1))
    .join()
    .finish();
}

/** A graph with an input `x` of this TensorProto.DataType. */
function inputOfType(id: number): Uint8Array {
  const tensor = (writer: BinaryWriter): BinaryWriter =>
    writer.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.Varint).int32(id).join();
  const input = (writer: BinaryWriter): BinaryWriter =>
    tensor(
      writer.tag(1, WireType.LengthDelimited).string('x').tag(2, WireType.LengthDelimited).fork(),
    ).join();
  const graph = new BinaryWriter().tag(7, WireType.LengthDelimited).fork().tag(11, WireType.LengthDelimited);
  return input(graph.fork()).join().join().finish();
}
