import type { FileHandle } from 'node:fs/promises';
import { intField, messageField, type Piece, stringField } from '../onnx/byte-pieces.ts';
import type { GraphFile, GraphNode } from '../onnx/graph-file.ts';
import { GRAPH, joinModel, type PartContents, type TensorType, valueField } from './graph-part-file.ts';

/** Field numbers of onnx.proto. */
const NODE = { input: 1, output: 2, operator: 4, attribute: 5 } as const;
const ATTRIBUTE = { name: 1, int: 3, graph: 6, type: 20 } as const;
/** AttributeProto.AttributeType */
const ATTRIBUTE_TYPE = { int: 2, graph: 5 } as const;

/**
 * What a model of several steps calls its inputs and outputs: a state in front of the `first` step and behind
 * the `last` one, and what crosses in `all` steps. The steps lie one behind the other in a new first
 * dimension. Inside, each step has the graph's own names.
 */
export const SCAN_NAMES = {
  first: (state: string): string => `scan:first:${state}`,
  last: (next: string): string => `scan:last:${next}`,
  all: (value: string): string => `scan:all:${value}`,
};

export interface ScanState {
  readonly name: string;
  /** The value that is the state of the next step. */
  readonly next: string;
  readonly type: TensorType;
}

export interface ScanContents extends Pick<PartContents, 'nodes' | 'takes'> {
  /** Weights, and inputs of the whole graph that are the same in each step. */
  readonly reads: readonly string[];
  readonly states: readonly ScanState[];
  readonly gives: ReadonlyMap<string, TensorType>;
}

/**
 * Makes an ONNX model that runs some of a file's nodes for as many steps as it is given, by the operator Scan
 * (https://onnx.ai/onnx/operators/onnx__Scan.html). From step to step the states stay within the runtime.
 * That costs a tenth less than to have all of them handed out and in again.
 */
export async function readScanPart(
  file: FileHandle,
  graph: GraphFile,
  part: ScanContents,
): Promise<Uint8Array> {
  const { nodes, reads, states } = part;
  const takes = [...part.takes];
  const outside = reads.filter((name) => !graph.weights.has(name) || isMatrix(graph, nodes, name));
  const inside = reads.filter((name) => !outside.includes(name));
  const declared = (names: readonly string[]): Piece[] =>
    names.flatMap((name) => graph.weights.get(name)?.span ?? graph.inputs.get(name) ?? []);

  const results = [...states.map(({ next, type }) => [next, type] as const), ...part.gives];
  const { copies, names } = withoutRepeats(results.map(([name]) => name));
  const body: Piece[] = [
    ...nodes.map(({ span }) => span),
    ...copies,
    stringField(GRAPH.name, 'step'),
    ...declared(inside),
    ...states.flatMap(({ name, type }) => valueField(GRAPH.input, name, type)),
    ...takes.flatMap(([name, type]) => valueField(GRAPH.input, name, type)),
    ...results.flatMap(([, type], i) => valueField(GRAPH.output, names[i] ?? '', type)),
  ];

  const inputs = [
    ...states.map(({ name, type }) => [SCAN_NAMES.first(name), type] as const),
    ...takes.map(([name, { element, shape }]) => {
      return [SCAN_NAMES.all(name), { element, shape: [undefined, ...shape] }] as const;
    }),
  ];
  const lastStates = states.map(({ next }) => SCAN_NAMES.last(next));
  const outputs = [...part.gives.keys()].map(SCAN_NAMES.all);
  const scan: Piece[] = [
    ...inputs.map(([name]) => stringField(NODE.input, name)),
    ...[...lastStates, ...outputs].map((name) => stringField(NODE.output, name)),
    stringField(NODE.operator, 'Scan'),
    ...attribute('num_scan_inputs', ATTRIBUTE_TYPE.int, [intField(ATTRIBUTE.int, takes.length)]),
    ...attribute('body', ATTRIBUTE_TYPE.graph, messageField(ATTRIBUTE.graph, body)),
  ];
  return joinModel(file, graph, [
    ...messageField(GRAPH.node, scan),
    stringField(GRAPH.name, 'steps'),
    ...declared(outside),
    ...inputs.flatMap(([name, type]) => valueField(GRAPH.input, name, type)),
    // The result is output 0 of its part, as of the graph.
    ...[...outputs, ...lastStates].flatMap((name) => valueField(GRAPH.output, name)),
  ]);
}

const MATRIX_READERS = new Set(['MatMul', 'MatMulInteger', 'Gemm']);
const MATRIX_VALUES = 4096;

/**
 * Large weights of matrix products stay outside of the loop. There the runtime keeps them once; of what is
 * inside, it keeps up to three copies. The others stay inside. There it looks for them when it brings weights
 * of convolutions into another form and fuses operators.
 */
function isMatrix(graph: GraphFile, nodes: readonly GraphNode[], name: string): boolean {
  if ((graph.weights.get(name)?.valueCount ?? 0) < MATRIX_VALUES) return false;
  return nodes.every(({ inputs, operator }) => !inputs.includes(name) || MATRIX_READERS.has(operator));
}

/** A graph may not give a value twice. A state that is also handed on would be given twice, so it is copied. */
function withoutRepeats(values: readonly string[]): { names: string[]; copies: Piece[] } {
  const copies: Piece[] = [];
  const names = values.map((value, i) => {
    if (values.indexOf(value) === i) return value;
    const copy = `scan:copy ${i}:${value}`;
    const identity = [
      stringField(NODE.input, value),
      stringField(NODE.output, copy),
      stringField(NODE.operator, 'Identity'),
    ];
    copies.push(...messageField(GRAPH.node, identity));
    return copy;
  });
  return { names, copies };
}

function attribute(name: string, type: number, value: readonly Piece[]): Piece[] {
  return messageField(NODE.attribute, [
    stringField(ATTRIBUTE.name, name),
    intField(ATTRIBUTE.type, type),
    ...value,
  ]);
}
