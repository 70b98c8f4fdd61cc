import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { expect, test } from 'vitest';
import { type GraphFile, readGraphFile } from '../../../../../inference/engine/onnx/onnx-reader.ts';
import { readGraphPart } from '../../../../../inference/engine/partition/part-file.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';

const workDir = fileFolder();

const tensorOf = (dataType: number, field: number, bytes: Uint8Array): Uint8Array => {
  const tensor = new BinaryWriter().tag(2, WireType.Varint).int32(dataType);
  tensor.tag(8, WireType.LengthDelimited).string('w');
  return tensor.tag(field, WireType.LengthDelimited).bytes(bytes).finish();
};
const graphWith = async (field: number, message: Uint8Array): Promise<GraphFile | undefined> => {
  const graph = new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(message).finish();
  const path = join(workDir, 'graph.onnx');
  writeFileSync(path, new BinaryWriter().tag(7, WireType.LengthDelimited).bytes(graph).finish());
  const file = await open(path);
  try {
    return await readGraphFile(file, 'graph.onnx');
  } finally {
    await file.close();
  }
};

test('a file whose weights are in another one, or sparse, is left to the runtime', async () => {
  expect(await graphWith(5, tensorOf(1, 9, new Uint8Array(4)))).toBeDefined();
  expect(await graphWith(5, tensorOf(1, 13, new Uint8Array()))).toBeUndefined();
  expect(await graphWith(15, new Uint8Array())).toBeUndefined();
});

test.each([
  ['float32', 1, 1000],
  ['uint8', 2, 4000],
  ['int8', 3, 4000],
  ['uint16', 4, 2000],
  ['int16', 5, 2000],
  ['float16', 10, 2000],
  ['bfloat16', 16, 2000],
])('the values of a weight of %s are counted', async (_, dataType, expected) => {
  const graph = await graphWith(5, tensorOf(dataType, 9, new Uint8Array(4000)));
  const count = graph?.weights.get('w')?.valueCount ?? 0;
  expect(count).toBeGreaterThanOrEqual(expected);
  expect(count).toBeLessThan(1.05 * expected);
});

test.each([
  ['a graph', 6],
  ['one of several graphs', 11],
])('what a branch reads counts among what its node reads, as %s', async (_, field) => {
  const named = (field: number, ...names: string[]): BinaryWriter => {
    const writer = new BinaryWriter();
    for (const name of names) writer.tag(field, WireType.LengthDelimited).string(name);
    return writer;
  };
  const inner = named(1, 'outer', '').raw(named(2, 'result').finish()).finish();
  const branch = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(inner);
  branch.tag(12, WireType.LengthDelimited).bytes(named(1, 'result').finish());
  const attribute = named(1, 'then_branch').tag(field, WireType.LengthDelimited).bytes(branch.finish());
  const node = named(1, 'condition').raw(named(2, 'y').finish());
  node.tag(5, WireType.LengthDelimited).bytes(attribute.finish());
  const [found] = (await graphWith(1, node.finish()))?.nodes ?? [];
  expect(found?.inputs).toEqual(['condition', 'outer', 'result']);
  expect(found?.outputs).toEqual(['y']);
});

test('a file that became shorter gives no part', async () => {
  const graph = await graphWith(5, tensorOf(1, 9, new Uint8Array(400)));
  if (graph === undefined) throw new Error('a graph is expected');
  const path = join(workDir, 'graph.onnx');
  const contents = { nodes: [], reads: ['w'], takes: new Map(), gives: [] };
  const file = await open(path, 'r+');
  try {
    expect((await readGraphPart(file, graph, contents)).length).toBeGreaterThan(400);
    await file.truncate(399);
    await expect(readGraphPart(file, graph, contents)).rejects.toThrow(
      /^found \d+ bytes at \d+, expected \d+$/,
    );
  } finally {
    await file.close();
  }
});
