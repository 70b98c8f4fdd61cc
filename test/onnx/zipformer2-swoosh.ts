import type { OnnxGraph, Value } from './graph.ts';

/** Zipformer's activation, ln(1 + e^(x − offset)) − 0.08 x − constant, in the operators that icefall exports. */
export function swoosh(graph: OnnxGraph, x: Value, offset: number, constant: number): Value {
  const shifted = graph.op('Sub', [x, graph.float(offset)]);
  const largest = graph.op('Max', [graph.float(0), shifted]);
  const distance = graph.op('Neg', [graph.op('Abs', [graph.op('Sub', [graph.float(0), shifted])])]);
  const log = graph.op('Log', [graph.op('Add', [graph.op('Exp', [distance]), graph.float(1)])]);
  const soft = graph.op('Add', [largest, log]);
  const linear = graph.op('Mul', [x, graph.float(0.08)]);
  return graph.op('Sub', [graph.op('Sub', [soft, linear]), graph.float(constant)]);
}
