import { writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Tensor } from 'onnxruntime-node';
import { expect, onTestFinished, test } from 'vitest';
import { type GraphFile, readGraphFile } from '../../../../../inference/engine/onnx/onnx-reader.ts';
import { loadOnnxModel } from '../../../../../inference/engine/onnx/onnx-session.ts';
import { outputNamed } from '../../../../../inference/engine/onnx/tensors.ts';
import { readScanPart, type ScanContents } from '../../../../../inference/engine/partition/part-file.ts';
import { OnnxGraph, type Value } from '../../../../onnx/graph.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';

const workDir = fileFolder();

const FLOATS = { element: 'float32', shape: [2] } as const;
let files = 0;

async function readFile(model: Uint8Array): Promise<[FileHandle, GraphFile]> {
  const path = join(workDir, `${files++}.onnx`);
  writeFileSync(path, model);
  const file = await open(path);
  onTestFinished(() => file.close());
  const graph = await readGraphFile(file, path);
  if (graph === undefined) throw new Error(`${path} is no plain graph`);
  return [file, graph];
}

test('runs the nodes for each step, and keeps the state from one to the next', async () => {
  const graph = new OnnxGraph();
  const x = graph.input('x', 'float32', [2]);
  const scale = graph.input('scale', 'float32', [2]);
  const state = graph.input('s', 'float32', [2]);
  const next = graph.named('s1', graph.op('Add', [graph.op('Mul', [x, scale]), state]));
  graph.output('y', graph.op('Mul', [next, graph.float(10)]), 'float32', [2]);
  graph.output('s1', next, 'float32', [2]);
  const [file, found] = await readFile(graph.build());
  const bytes = await readScanPart(file, found, {
    nodes: found.nodes,
    reads: [...found.weights.keys(), 'scale'],
    states: [{ name: 's', next: 's1', type: FLOATS }],
    takes: new Map([['x', FLOATS]]),
    // Handed on to another part, the state is an output twice.
    gives: new Map([
      ['y', FLOATS],
      ['s1', FLOATS],
    ]),
  });
  const onnx = await loadOnnxModel(
    { fileName: 'scan', bytes },
    { providers: ['cpu'], threads: 1, log: () => {} },
  );
  onTestFinished(() => onnx.release());
  expect(onnx.outputNames).toEqual(['scan:all:y', 'scan:all:s1', 'scan:last:s1']);
  const outputs = await onnx.run({
    'scan:first:s': new Tensor('float32', Float32Array.of(100, 200), [2]),
    'scan:all:x': new Tensor('float32', Float32Array.of(1, 2, 3, 4, 5, 6), [3, 2]),
    scale: new Tensor('float32', Float32Array.of(1, 2), [2]),
  });
  const [all, states, last] = onnx.outputNames.map((name) => outputNamed(onnx, outputs, name));
  expect([...(states?.data ?? [])]).toEqual([101, 204, 104, 212, 109, 224]);
  expect(states?.dims).toEqual([3, 2]);
  expect([...(all?.data ?? [])]).toEqual([1010, 2040, 1040, 2120, 1090, 2240]);
  expect([...(last?.data ?? [])]).toEqual([109, 224]);
});

test('keeps large weights of matrix products outside of the steps, and all others inside', async () => {
  const graph = new OnnxGraph();
  const sizes = { large: [64, 64], small: [64, 63] } as const;
  const weights = (shape: readonly number[]): Value =>
    graph.floats(new Float32Array(shape.reduce((product, size) => product * size, 1)), shape);
  const x = graph.input('x', 'float32', [1, 64]);
  const state = graph.input('s', 'float32', [1]);
  const product = weights(sizes.large);
  const both = weights(sizes.large);
  graph.op('MatMul', [x, product]);
  graph.op('Gemm', [x, product]);
  graph.op('MatMul', [x, weights(sizes.small)]);
  graph.op('MatMul', [x, both]);
  graph.op('Add', [both, state]);
  const integers = graph.bytes(new Int8Array(4096), sizes.large);
  graph.op('MatMulInteger', [graph.op('Cast', [x], { to: 2 }), integers]);
  const [file, found] = await readFile(graph.build());
  const contents: ScanContents = {
    nodes: found.nodes,
    reads: [...found.weights.keys()],
    states: [],
    takes: new Map([['x', { element: 'float32', shape: [1, 64] }]]),
    gives: new Map(),
  };
  const [, scan] = await readFile(await readScanPart(file, found, contents));
  expect([...scan.weights.keys()].sort()).toEqual([product, integers].sort());
});
