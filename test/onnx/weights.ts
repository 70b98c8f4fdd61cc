import type { OnnxGraph, Value } from './graph.ts';

/** Numbers that are the same on every machine (mulberry32, made normal by summing). */
export class Weights {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  uniform(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Near a normal distribution with mean 0 and this deviation. */
  normal(deviation: number): number {
    return deviation * (this.uniform() + this.uniform() + this.uniform() - 1.5) * 2;
  }

  normals(count: number, deviation: number): Float32Array {
    const values = new Float32Array(count);
    for (let i = 0; i < count; i++) values[i] = this.normal(deviation);
    return values;
  }
}

/** Matrix products of a graph, in full precision or as onnxruntime's dynamic quantization to 8 bits writes them. */
export class LinearLayers {
  readonly #graph: OnnxGraph;
  readonly #weights: Weights;
  readonly #int8: boolean;
  /** Weights made so far. */
  parameters = 0;

  constructor(graph: OnnxGraph, weights: Weights, int8: boolean) {
    this.#graph = graph;
    this.#weights = weights;
    this.#int8 = int8;
  }

  /** x (…, rows) · W (rows, columns) + b. */
  linear(x: Value, rows: number, columns: number, gain = 1): Value {
    const product = this.#product(x, rows, columns, gain / Math.sqrt(rows));
    this.parameters += columns;
    return this.#graph.op('Add', [
      product,
      this.#graph.floats(this.#weights.normals(columns, 0.1 * gain), [columns]),
    ]);
  }

  /** Without bias. */
  product(x: Value, rows: number, columns: number, gain = 1): Value {
    return this.#product(x, rows, columns, gain / Math.sqrt(rows));
  }

  #product(x: Value, rows: number, columns: number, deviation: number): Value {
    const graph = this.#graph;
    this.parameters += rows * columns;
    const data = this.#weights.normals(rows * columns, deviation);
    if (!this.#int8) return graph.op('MatMul', [x, graph.floats(data, [rows, columns])]);
    const scale = (3 * deviation) / 127;
    const quantized = new Int8Array(data.length);
    for (let i = 0; i < data.length; i++) quantized[i] = Math.round((data[i] ?? 0) / scale);
    const [xInt8 = '', xScale = '', xZero = ''] = graph.ops('DynamicQuantizeLinear', [x], 3);
    const product = graph.op('MatMulInteger', [xInt8, graph.bytes(quantized, [rows, columns]), xZero]);
    const factor = graph.op('Mul', [xScale, graph.float(scale)]);
    return graph.op('Mul', [graph.op('Cast', [product], { to: 1 }), factor]);
  }
}
