import type { FileHandle } from 'node:fs/promises';
import type { GraphNode } from '../onnx/graph-messages.ts';
import { ONNX } from '../onnx/onnx-fields.ts';
import type { GraphFile } from '../onnx/onnx-reader.ts';
import {
  type Fragment,
  graphAttribute,
  intAttribute,
  nodeField,
  type TensorType,
  valueField,
  writeModel,
} from '../onnx/onnx-writer.ts';

export interface PartContents {
  readonly nodes: readonly GraphNode[];
  /** Weights, and inputs of the whole graph that are the same in each step. */
  readonly reads: readonly string[];
  /** Inputs that the whole graph makes itself. */
  readonly takes: ReadonlyMap<string, TensorType>;
  readonly gives: readonly string[];
}

/** An ONNX model of some of a file's nodes, for one step. @throws Error when the file has become shorter */
export function readGraphPart(
  file: FileHandle,
  graph: GraphFile,
  { nodes, reads, takes, gives }: PartContents,
): Promise<Uint8Array> {
  return writeModel(file, graph, 'part', [
    ...nodes.map(({ span }) => span),
    ...declared(graph, reads),
    ...[...takes].flatMap(([name, type]) => valueField(ONNX.graph.input, name, type)),
    ...gives.flatMap((name) => valueField(ONNX.graph.output, name)),
  ]);
}

/** The file's own fields of weights and inputs. */
function declared({ weights, inputs }: GraphFile, names: readonly string[]): Fragment[] {
  return names.flatMap((name) => weights.get(name)?.span ?? inputs.get(name) ?? []);
}

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

export interface ScanContents extends Omit<PartContents, 'gives'> {
  readonly states: readonly ScanState[];
  readonly gives: ReadonlyMap<string, TensorType>;
}

/**
 * Makes an ONNX model that runs some of a file's nodes for as many steps as it is given, by the operator Scan
 * (https://onnx.ai/onnx/operators/onnx__Scan.html). From step to step the states stay within the runtime.
 * That costs a tenth less than to have all of them handed out and in again.
 * @throws Error when the file has become shorter
 */
export function readScanPart(file: FileHandle, graph: GraphFile, part: ScanContents): Promise<Uint8Array> {
  const { nodes, reads, states } = part;
  const takes = [...part.takes];
  const outside = reads.filter((name) => !graph.weights.has(name) || isMatrix(graph, nodes, name));
  const inside = reads.filter((name) => !outside.includes(name));

  const results = [...states.map(({ next, type }) => [next, type] as const), ...part.gives];
  const { copies, names } = withoutRepeats(results.map(([name]) => name));
  const body = [
    ...nodes.map(({ span }) => span),
    ...copies,
    ...declared(graph, inside),
    ...states.flatMap(({ name, type }) => valueField(ONNX.graph.input, name, type)),
    ...takes.flatMap(([name, type]) => valueField(ONNX.graph.input, name, type)),
    ...results.flatMap(([, type], i) => valueField(ONNX.graph.output, names[i] ?? '', type)),
  ];

  const inputs = [
    ...states.map(({ name, type }) => [SCAN_NAMES.first(name), type] as const),
    ...takes.map(([name, { element, shape }]) => {
      return [SCAN_NAMES.all(name), { element, shape: [undefined, ...shape] }] as const;
    }),
  ];
  const lastStates = states.map(({ next }) => SCAN_NAMES.last(next));
  const outputs = [...part.gives.keys()].map(SCAN_NAMES.all);
  const scan = nodeField(
    'Scan',
    inputs.map(([name]) => name),
    [...lastStates, ...outputs],
    [...intAttribute('num_scan_inputs', takes.length), ...graphAttribute('body', body)],
  );
  return writeModel(file, graph, 'steps', [
    ...scan,
    ...declared(graph, outside),
    ...inputs.flatMap(([name, type]) => valueField(ONNX.graph.input, name, type)),
    // The result is output 0 of its part, as of the graph.
    ...[...outputs, ...lastStates].flatMap((name) => valueField(ONNX.graph.output, name)),
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
function withoutRepeats(values: readonly string[]): { names: string[]; copies: Fragment[] } {
  const copies: Fragment[] = [];
  const names = values.map((value, i) => {
    if (values.indexOf(value) === i) return value;
    const copy = `scan:copy ${i}:${value}`;
    copies.push(...nodeField('Identity', [value], [copy]));
    return copy;
  });
  return { names, copies };
}
