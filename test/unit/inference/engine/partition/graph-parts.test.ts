import { describe, expect, test } from 'vitest';
import type { GraphNode } from '../../../../../inference/engine/onnx/graph-messages.ts';
import type { GraphFile, GraphWeight } from '../../../../../inference/engine/onnx/onnx-reader.ts';
import {
  type CutOptions,
  cutGraph,
  type GraphPart,
} from '../../../../../inference/engine/partition/graph-parts.ts';

const WEIGHT_VALUES = 100;

/** `'a, b -> c'`: values that begin with w are weights of 100 values. */
function graphOf(...nodes: string[]): GraphFile {
  const weights = new Map<string, GraphWeight>();
  const split = (names = ''): string[] => names.split(',').map((name) => name.trim());
  return {
    nodes: nodes.map((text, i): GraphNode => {
      const [inputs, outputs] = text.split('->').map(split);
      for (const name of inputs ?? [])
        if (name.startsWith('w'))
          weights.set(name, { span: { start: 0, end: 1 }, valueCount: WEIGHT_VALUES });
      return {
        span: { start: i, end: i + 1 },
        operator: '',
        inputs: inputs ?? [],
        outputs: outputs ?? [],
      };
    }),
    weights,
    inputs: new Map(),
    model: [],
    irVersion: 8,
  };
}

/** A part for each weight, where nothing forbids it. */
function partsOf(nodes: readonly string[], options: Partial<CutOptions> = {}): GraphPart[] {
  return cutGraph(graphOf(...nodes), {
    input: 'x',
    result: 'y',
    nextStates: new Map(),
    counters: new Set(),
    partValues: WEIGHT_VALUES,
    ...options,
  });
}

/** Numbers of the nodes, part by part. */
function nodesOf(parts: readonly GraphPart[]): number[][] {
  return parts.map(({ nodes }) => nodes.map(({ span }) => span.start));
}

const takes = (parts: readonly GraphPart[]): (readonly string[])[] => parts.map((part) => part.takes);
const gives = (parts: readonly GraphPart[]): (readonly string[])[] => parts.map((part) => part.gives);
const reads = (parts: readonly GraphPart[]): string[][] => parts.map((part) => [...part.reads].sort());

describe('a graph is cut', () => {
  test('where its weights reach the size of a part', () => {
    const parts = partsOf(['x, w1 -> a', 'a -> b', 'b, w2 -> c', 'c, w3 -> y']);
    expect(nodesOf(parts)).toEqual([[0], [1, 2], [3]]);
    expect(takes(parts)).toEqual([['x'], ['a'], ['c']]);
    expect(gives(parts)).toEqual([['a'], ['c'], ['y']]);
    expect(reads(parts)).toEqual([['w1'], ['w2'], ['w3']]);
  });

  test('not at all where only its end would be left, or its result hears nothing', () => {
    expect(partsOf(['x, w1 -> a', 'a -> y'])).toHaveLength(1);
    expect(partsOf(['x, w1 -> a', 'a, w2 -> b'])).toEqual([]);
    expect(partsOf(['x, w1 -> a', 'a, w2 -> b', 'w3 -> y'])).toEqual([]);
  });

  test('where the least crosses, if that is no further than half a part away', () => {
    const nodes = ['x, w1 -> a', 'a, w2 -> b', 'b -> c, d', 'c, d, w3 -> e, f', 'e, f, w4 -> y'];
    expect(nodesOf(partsOf(nodes, { partValues: 3 * WEIGHT_VALUES }))).toEqual([
      [0, 1],
      [2, 3, 4],
    ]);
  });

  test.each([
    [8, 2],
    [9, 1],
  ])('where no more than 8 values cross: %i, %i parts', (count, expected) => {
    const crossing = Array.from({ length: count }, (_, i) => `c${i}`).join();
    expect(partsOf([`x, w1 -> ${crossing}`, `${crossing}, w2 -> y`])).toHaveLength(expected);
    const withInput = crossing.replace('c0', 'x');
    expect(partsOf([`x, w1 -> ${crossing}`, `${withInput}, w2 -> y`])).toHaveLength(expected);
  });

  test('so that a value goes past parts that do not need it, the input too', () => {
    const parts = partsOf(['x, w1 -> a', 'a, w2 -> b', 'b, a, x, w3 -> y']);
    expect(takes(parts)).toEqual([['x'], ['a'], ['b', 'a', 'x']]);
    expect(gives(parts)).toEqual([['a'], ['b'], ['y']]);
  });

  test('so that a result that is made early comes from there', () => {
    const parts = partsOf(['x, w1 -> a, y', 'a, w2 -> b', 'b, s -> s1'], {
      nextStates: new Map([['s', 's1']]),
    });
    expect(gives(parts)).toEqual([['y', 'a'], []]);
  });
});

describe('a state', () => {
  const nextStates = new Map([['s', 's1']]);

  test('stays in the part that reads and makes it', () => {
    const parts = partsOf(['x, w1 -> a', 'a, s, w2 -> b, s1', 'b, w3 -> y'], { nextStates });
    expect(nodesOf(parts)).toEqual([[0], [1], [2]]);
    expect(reads(parts)).toEqual([['w1'], ['s', 'w2'], ['w3']]);
    expect(gives(parts)).toEqual([['a'], ['b'], ['y']]);
  });

  test.each([
    ['is read and made', ['x, s, w1 -> a', 'a, w2 -> b', 'b -> s1', 'b, w3 -> y'], [[0, 1, 2], [3]]],
    ['is read twice', ['x, s, w1 -> a', 'a, s, w2 -> b', 'b -> s1', 'b, w3 -> y'], [[0, 1, 2], [3]]],
    ['is made before it is read', ['x, w1 -> s1', 's1, s, w2 -> b', 'b, w3 -> y'], [[0, 1], [2]]],
    ['is read through a node', ['s -> t', 'x, w1 -> a', 'a, t, w2 -> s1', 's1, w3 -> y'], [[0, 1, 2], [3]]],
  ])('that %s on both sides forbids a cut', (_, nodes, expected) => {
    expect(nodesOf(partsOf(nodes, { nextStates }))).toEqual(expected);
  });

  test('that the file names at its end is made where it was known', () => {
    const nodes = ['x, s, w1 -> a, t', 'a, w2 -> b', 'b, w3 -> y', 't -> s1'];
    expect(nodesOf(partsOf(nodes, { nextStates }))).toEqual([[0, 3], [1], [2]]);
  });

  test('that no node makes is not understood', () => {
    expect(partsOf(['x, w1 -> a', 'a, s, w2 -> y'], { nextStates })).toEqual([]);
  });
});

describe('a counter', () => {
  const options = { nextStates: new Map([['n', 'n1']]), counters: new Set(['n']) };

  test('and what follows from it are in every part that needs them', () => {
    const nodes = ['n, k -> mask', 'n, k -> n1', 'x, mask, w1 -> a', 'a, w2 -> b', 'b, mask, w3 -> y'];
    const parts = partsOf(nodes, options);
    expect(nodesOf(parts)).toEqual([[0, 1, 2], [3], [0, 1, 4]]);
    expect(reads(parts)).toEqual([['k', 'n', 'w1'], ['w2'], ['k', 'n', 'w3']]);
    expect(takes(parts)).toEqual([['x'], ['a'], ['b']]);
  });

  test('that what was heard weighs in on is a state like any other', () => {
    const nodes = ['n -> mask', 'x, mask, w1 -> a', 'a, mask, w2 -> b', 'b, n -> n1', 'b, w3 -> y'];
    expect(nodesOf(partsOf(nodes, options))).toEqual([[0, 1, 2, 3], [4]]);
  });

  test('beside weights in another form, which count where they are used first', () => {
    const parts = partsOf(['w1 -> v', 'x, v -> a', 'a, w2 -> b', 'b, v -> y']);
    expect(nodesOf(parts)).toEqual([
      [0, 1],
      [0, 2, 3],
    ]);
  });
});
