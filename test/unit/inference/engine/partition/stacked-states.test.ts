import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { nemoCtcLayout } from '../../../../../inference/engine/families/nemo-ctc.ts';
import type { NetworkSignature } from '../../../../../inference/engine/onnx/network-signature.ts';
import { readOnnxOutline } from '../../../../../inference/engine/onnx/onnx-outline.ts';
import { loadOnnxModel, type SessionOptions } from '../../../../../inference/engine/onnx/onnx-session.ts';
import { elementCount } from '../../../../../inference/engine/onnx/tensors.ts';
import type { GraphFile, GraphNode } from '../../../../../inference/engine/onnx/graph-file.ts';
import { loadParts } from '../../../../../inference/engine/partition/load-parts.ts';
import { type LoadedNetwork, wholeNetwork } from '../../../../../inference/engine/partition/network-part.ts';
import { findStackedStates } from '../../../../../inference/engine/partition/stacked-states.ts';
import { StatefulNetwork } from '../../../../../inference/engine/partition/stateful-network.ts';
import { OnnxGraph, type Value } from '../../../../onnx/graph.ts';
import { Weights } from '../../../../onnx/weights.ts';
import { SMALL_CTC } from '../../../../support/fixtures.ts';
import { fileFolder } from '../../../../support/folders.ts';

const workDir = fileFolder();

const CPU: SessionOptions = { providers: ['cpu'], threads: 1, log: () => {} };
const never = new AbortController().signal;
let files = 0;

/** How many parts, and of some steps what the parts give and what the graph gives. */
async function divided(
  path: string,
  signatureOf: (outline: Awaited<ReturnType<typeof readOnnxOutline>>) => NetworkSignature,
  options: SessionOptions,
  rowSize: number,
): Promise<{ parts: number | undefined; found: number[][]; expected: number[][] }> {
  const outline = await readOnnxOutline(path);
  const signature = signatureOf(outline);
  const stepValues = elementCount(signature.input);
  const features = new Weights(3).normals(19 * stepValues, 2);
  const onnx = await loadOnnxModel(path, options);
  onTestFinished(() => onnx.release());
  // Pieces of another shape are noticed only when the parts are loaded.
  const parts = await loadParts(outline, signature, options).catch(() => undefined);
  onTestFinished(async () => {
    await Promise.all(parts?.parts.map((part) => part.onnx.release()) ?? []);
  });
  const run = async (loaded: LoadedNetwork): Promise<number[][]> => {
    const network = new StatefulNetwork(loaded, rowSize);
    const rows = [
      ...(await network.run(features.subarray(0, 16 * stepValues), never)),
      ...(await network.run(features.subarray(16 * stepValues), never)),
    ];
    return rows.map((values) => Array.from(values));
  };
  return {
    parts: parts?.parts.length,
    expected: await run(wholeNetwork(onnx, outline, signature)),
    found: parts === undefined ? [] : await run(parts),
  };
}

interface Stack {
  /** From the state, (1, 1, 8), to its pieces, (1, 4) each. */
  apart(graph: OnnxGraph, state: Value): Value[];
  together(graph: OnnxGraph, next: readonly Value[]): Value;
}

const axis = (graph: OnnxGraph): Value => graph.ints([1]);
const inOrder: Stack = {
  apart: (graph, state) => graph.ops('Split', [graph.op('Squeeze', [state, axis(graph)])], 2, { axis: 1 }),
  together: (graph, next) => graph.op('Unsqueeze', [graph.op('Concat', next, { axis: 1 }), axis(graph)]),
};

/** Two layers with a state each, in one tensor. */
async function stackOf(stack: Stack): Promise<ReturnType<typeof divided>> {
  const graph = new OnnxGraph();
  const weights = (seed: number): Value => graph.floats(new Weights(seed).normals(16, 0.4), [4, 4]);
  const x = graph.input('x', 'float32', [1, 4]);
  const state = graph.input('s', 'float32', [1, 1, 8]);
  const [first = '', second = ''] = stack.apart(graph, state);
  const lower = graph.op('Tanh', [graph.op('Add', [graph.op('MatMul', [x, weights(1)]), first])]);
  const upper = graph.op('Add', [graph.op('MatMul', [lower, weights(2)]), second]);
  graph.output('y', graph.op('MatMul', [upper, weights(4)]), 'float32', [1, 4]);
  graph.output('s1', stack.together(graph, [lower, upper]), 'float32', [1, 1, 8]);
  const path = join(workDir, `model-${files++}.onnx`);
  writeFileSync(path, graph.build());
  const spec = (name: string, shape: number[]) => ({ name, type: 'float32', shape }) as const;
  const signature = {
    input: spec('x', [1, 4]),
    constants: {},
    states: [spec('s', [1, 1, 8])],
    firstStateOutput: 1,
  };
  return divided(path, () => signature, { ...CPU, partValues: 16 }, 4);
}

describe('states in one tensor', () => {
  test('are states of their own in the parts of a graph', async () => {
    const { parts, found, expected } = await stackOf(inOrder);
    expect(parts).toBe(3);
    expect(found).toEqual(expected);
    expect(expected[18]).not.toEqual(expected[17]);
  });

  test('may change places', async () => {
    const crossed: Stack = {
      ...inOrder,
      together: (graph, next) => inOrder.together(graph, [...next].reverse()),
    };
    const { parts, found, expected } = await stackOf(crossed);
    expect(parts).toBeGreaterThanOrEqual(2);
    expect(found).toEqual(expected);
    expect(expected).not.toEqual((await stackOf(inOrder)).expected);
  });

  test.each<[string, Partial<Stack>]>([
    [
      'are put together in another order',
      {
        together: (graph, next) =>
          graph.op('Unsqueeze', [
            graph.op(
              'Gather',
              [graph.op('Concat', next, { axis: 1 }), graph.ints([4, 5, 6, 7, 0, 1, 2, 3])],
              { axis: 1 },
            ),
            axis(graph),
          ]),
      },
    ],
    [
      'are put together along another axis',
      {
        together: (graph, next) =>
          graph.op('Reshape', [
            graph.op(
              'Concat',
              next.map((value) => graph.op('Reshape', [value, graph.ints([4, 1])])),
              { axis: 1 },
            ),
            graph.ints([1, 1, 8]),
          ]),
      },
    ],
    [
      'are read in one piece, too',
      {
        apart: (graph, state) =>
          inOrder.apart(graph, graph.op('Add', [state, graph.op('Mul', [state, graph.float(0)])])),
      },
    ],
    ['change on the way', { apart: (graph, state) => inOrder.apart(graph, graph.op('Round', [state])) }],
    [
      'are one piece',
      {
        apart: (graph, state) => {
          const piece = graph.op('Squeeze', [state, axis(graph)]);
          return [
            [0, 4],
            [4, 8],
          ].map(([from = 0, until = 0]) =>
            graph.op('Slice', [piece, graph.ints([from]), graph.ints([until]), axis(graph)]),
          );
        },
      },
    ],
  ])('stay together where they %s', async (_, stack) => {
    const { parts, expected } = await stackOf({ ...inOrder, ...stack });
    expect(parts).toBeUndefined();
    // It runs in one piece.
    expect(expected).toHaveLength(19);
  });

  test('of the small CTC model are taken apart: it runs in parts, and gives what it gives in one piece', async () => {
    const path = join(SMALL_CTC, 'model.onnx');
    const { parts, found, expected } = await divided(
      path,
      (outline) => nemoCtcLayout(outline).signature,
      CPU,
      3211,
    );
    expect(parts).toBeGreaterThanOrEqual(3);
    expect(found.map((row) => row.length)).toEqual(expected.map((row) => row.length));
    // Other fusions across the borders may round in other places.
    const differences = expected.flatMap((row, i) =>
      row.map((value, j) => Math.abs(value - (found[i]?.[j] ?? Number.NaN))),
    );
    expect(differences.reduce((most, difference) => Math.max(most, difference), 0)).toBeLessThan(1e-3);
  });

  test('are not looked for in a circle', () => {
    const node = (inputs: string[], outputs: string[]): GraphNode => ({
      span: { start: 0, end: 0 },
      name: '',
      operator: '',
      inputs,
      outputs,
    });
    const file = (...nodes: GraphNode[]): GraphFile => ({
      nodes,
      weights: new Map(),
      inputs: new Map(),
      model: [],
      irVersion: 8,
    });
    expect(findStackedStates(file(node(['s'], ['s'])), 's', 's')).toBeUndefined();
    expect(
      findStackedStates(file(node(['s'], ['a', 'b']), node(['n', 'w'], ['n'])), 's', 'n'),
    ).toBeUndefined();
  });
});
