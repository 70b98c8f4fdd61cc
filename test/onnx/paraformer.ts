import { OnnxGraph, type Value } from './graph.ts';
import { TransformerBlocks } from './transformer-blocks.ts';
import { Weights } from './weights.ts';

export interface ParaformerSizes {
  readonly width: number;
  readonly heads: number;
  readonly feedForwardDim: number;
  readonly encoderLayers: number;
  readonly decoderLayers: number;
}

export interface ParaformerOptions {
  readonly sizes: ParaformerSizes;
  readonly vocabularySize: number;
  /** Added to the score of each of these tokens. */
  readonly bias?: Readonly<Record<number, number>>;
  /** Whether products with weights are quantized to 8 bits. */
  readonly int8: boolean;
  readonly seed: number;
}

const BINS = 80;
const [ROW_FRAMES, SHIFT_FRAMES] = [7, 6];
const ROW_VALUES = BINS * ROW_FRAMES;
const KERNEL = 11;
/** The weight of one more row behind the last, which the offline graph adds by itself. */
const TAIL = 0.45;
const END = Number.MAX_SAFE_INTEGER;

/**
 * A Paraformer of random weights in the form of FunASR's export: one graph, or the encoder and the decoder of
 * a streaming one.
 */
export function buildParaformer(options: ParaformerOptions): { model: Uint8Array; parameters: number } {
  return new ParaformerBuilder(options).offline();
}

export function buildStreamingEncoder(options: ParaformerOptions): { model: Uint8Array; parameters: number } {
  return new ParaformerBuilder(options).encoder();
}

export function buildStreamingDecoder(options: ParaformerOptions): { model: Uint8Array; parameters: number } {
  return new ParaformerBuilder({ ...options, seed: options.seed + 1 }).decoder();
}

class ParaformerBuilder {
  readonly #graph = new OnnxGraph();
  readonly #options: ParaformerOptions;
  readonly #weights: Weights;
  readonly #blocks: TransformerBlocks;

  constructor(options: ParaformerOptions) {
    const { sizes, vocabularySize, int8, seed } = options;
    this.#options = options;
    this.#weights = new Weights(seed);
    const blockSizes = { ...sizes, layers: sizes.encoderLayers, vocabularySize };
    this.#blocks = new TransformerBlocks(this.#graph, this.#weights, blockSizes, int8);
  }

  encoder(): { model: Uint8Array; parameters: number } {
    const { sizes } = this.#options;
    const { speech, lengths } = this.#inputs();
    const { enc, alphas } = this.#encode(speech, lengths);
    this.#graph.output('enc', enc, 'float32', ['N', 'T', sizes.width]);
    this.#graph.output('enc_len', lengths, 'int32', ['N']);
    this.#graph.output('alphas', alphas, 'float32', ['N', 'T']);
    const { width: encoder_output_size, decoderLayers: decoder_num_blocks } = sizes;
    return this.#built({ encoder_output_size, decoder_num_blocks, decoder_kernel_size: KERNEL });
  }

  decoder(): { model: Uint8Array; parameters: number } {
    const { sizes, vocabularySize } = this.#options;
    const graph = this.#graph;
    const rows = (name: string, count: string): [Value, Value] => [
      graph.input(name, 'float32', ['N', count, sizes.width]),
      graph.input(`${name}_len`, 'int32', ['N']),
    ];
    const [[enc, encLength], [embeds, embedsLength]] = [rows('enc', 'T'), rows('acoustic_embeds', 'U')];
    const cacheShape = ['N', sizes.width, KERNEL - 1];
    const caches = Array.from({ length: sizes.decoderLayers }, (_, i) =>
      graph.input(`in_cache_${i}`, 'float32', cacheShape),
    );
    const { scores, kept } = this.#decode(enc, encLength, embeds, embedsLength, caches);
    graph.output('logits', scores, 'float32', ['N', 'U', vocabularySize]);
    graph.output('sample_ids', this.#op('ArgMax', [scores], { axis: 2, keepdims: 0 }), 'int64', ['N', 'U']);
    for (const [i, cache] of kept.entries()) graph.output(`out_cache_${i}`, cache, 'float32', cacheShape);
    return { model: graph.build(), parameters: this.#blocks.parameters };
  }

  offline(): { model: Uint8Array; parameters: number } {
    const { sizes, vocabularySize } = this.#options;
    const graph = this.#graph;
    const { speech, lengths } = this.#inputs();
    const scaled = this.#op('Mul', [speech, graph.float(Math.sqrt(sizes.width))]);
    const x = this.#op('Add', [scaled, this.#positions(speech)]);
    const { enc, alphas } = this.#encode(x, lengths);
    // The tail: a row of zeros.
    const all = this.#op('Concat', [alphas, graph.floats(Float32Array.of(TAIL), [1, 1])], { axis: 1 });
    const hidden = this.#op('Pad', [enc, graph.ints([0, 0, 0, 0, 1, 0])]);
    const sums = this.#op('CumSum', [all, graph.ints([1])]);
    const total = this.#op('Floor', [this.#op('ReduceSum', [all, graph.ints([1])], { keepdims: 0 })]);
    const count = this.#op('Cast', [total], { to: 6 });
    // Token k has of each row what lies between k and k + 1 of the sums.
    const tokens = this.#range(
      this.#op('Cast', [this.#op('ReduceMax', [total], { keepdims: 0 })], { to: 7 }),
    );
    const from = this.#unsqueeze(this.#op('Cast', [tokens], { to: 1 }), 1);
    const end = this.#op('Min', [this.#unsqueeze(sums, 1), this.#op('Add', [from, graph.float(1)])]);
    const start = this.#op('Max', [this.#unsqueeze(this.#op('Sub', [sums, all]), 1), from]);
    const share = this.#op('Relu', [this.#op('Sub', [end, start])]);
    const embeds = this.#op('MatMul', [share, hidden]);
    const { scores } = this.#decode(enc, lengths, embeds, count);
    const logits = this.#op('LogSoftmax', [scores], { axis: -1 });
    graph.output('logits', logits, 'float32', ['N', 'U', vocabularySize]);
    graph.output('token_num', count, 'int32', ['N']);
    return this.#built({});
  }

  #inputs(): { speech: Value; lengths: Value } {
    const speech = this.#graph.input('speech', 'float32', ['N', 'T', ROW_VALUES]);
    return { speech, lengths: this.#graph.input('speech_lengths', 'int32', ['N']) };
  }

  #built(sizes: Record<string, number>): { model: Uint8Array; parameters: number } {
    const values = Array.from({ length: ROW_VALUES }, (_, i) => [i % BINS, Math.floor(i / BINS)] as const);
    // The frames of a row differ, so that a wrong order shows; in the public files they are alike.
    const means = values.map(([bin, frame]) => -11.5 - 1.5 * Math.sin(bin / 11) + 0.01 * bin - 0.13 * frame);
    const factors = values.map(([bin, frame]) => 0.16 + 0.02 * Math.cos(bin / 17) + 0.003 * frame);
    this.#graph.metadata({
      ...{ lfr_window_size: ROW_FRAMES, lfr_window_shift: SHIFT_FRAMES },
      neg_mean: means.map((value) => Number(value.toPrecision(6))),
      inv_stddev: factors.map((value) => Number(value.toPrecision(6))),
      ...{ model_type: 'paraformer', version: 1, vocab_size: this.#options.vocabularySize },
      ...sizes,
    });
    return { model: this.#graph.build(), parameters: this.#blocks.parameters };
  }

  /** @param x (N, T, 560), scaled and with positions. */
  #encode(x: Value, lengths: Value): { enc: Value; alphas: Value } {
    const { width, encoderLayers } = this.#options.sizes;
    const blocks = this.#blocks;
    const { column, far } = this.#mask(x, lengths);
    let y = this.#op('Mul', [blocks.project(x, ROW_VALUES, width), column]);
    for (let layer = 0; layer < encoderLayers; layer++) {
      const normal = blocks.norm(y);
      const values = blocks.linear(normal);
      const memory = this.#memory(values, [(KERNEL - 1) / 2, (KERNEL - 1) / 2]);
      y = blocks.add(blocks.attention(y, normal, blocks.linear(normal), values, far), memory);
      y = blocks.feedForward(y);
    }
    const enc = blocks.norm(y);
    // The real predictor's filter, and what makes silence weigh nothing: how loud a row is.
    const heard = this.#op('Relu', [this.#convolved(enc, 3, 1, [1, 1])]);
    const loudness = this.#op('ReduceMean', [x], { axes: [2], keepdims: 1 });
    const louder = this.#op('Mul', [loudness, this.#graph.float(3 / Math.sqrt(width))]);
    const sum = blocks.add(blocks.add(blocks.project(heard, width, 1), louder), this.#graph.float(-1.6));
    const weighed = this.#op('Mul', [this.#op('Sigmoid', [sum]), column]);
    return { enc, alphas: this.#op('Squeeze', [weighed, this.#graph.ints([2])]) };
  }

  /** @param caches of a streaming one: the rows before, for each layer; else a layer looks both ways. */
  #decode(
    enc: Value,
    encLength: Value,
    embeds: Value,
    embedsLength: Value,
    caches?: readonly Value[],
  ): { scores: Value; kept: Value[] } {
    const { sizes, vocabularySize, bias = {} } = this.#options;
    const blocks = this.#blocks;
    const { far } = this.#mask(enc, encLength);
    const { column } = this.#mask(embeds, embedsLength);
    const kept: Value[] = [];
    let x = embeds;
    for (let layer = 0; layer < sizes.decoderLayers; layer++) {
      x = blocks.feedForward(x);
      const normal = this.#op('Mul', [blocks.norm(x), column]);
      x = blocks.add(x, this.#memory(normal, [(KERNEL - 1) / 2, (KERNEL - 1) / 2], caches?.[layer], kept));
      x = blocks.attention(x, blocks.norm(x), blocks.linear(enc), blocks.linear(enc), far);
    }
    const biases = Float32Array.from({ length: vocabularySize }, (_, id) => bias[id] ?? 0);
    const scores = blocks.scores(blocks.norm(blocks.feedForward(x)));
    return { scores: blocks.add(scores, this.#graph.floats(biases, [vocabularySize])), kept };
  }

  /** FSMN: x and a filter of each of its values over time. */
  #memory(x: Value, pads: [number, number], cache?: Value, kept: Value[] = []): Value {
    const { width } = this.#options.sizes;
    if (cache === undefined) return this.#op('Add', [x, this.#convolved(x, KERNEL, width, pads)]);
    const all = this.#op('Concat', [cache, this.#turned(x)], { axis: 2 });
    const [start, end, axis] = [1 - KERNEL, END, 2].map((value) => this.#graph.ints([value]));
    kept.push(this.#op('Slice', [all, start ?? '', end ?? '', axis ?? '']));
    return this.#op('Add', [x, this.#convolved(this.#turned(all), KERNEL, width, [0, 0])]);
  }

  /** A convolution over time, (N, T, width) to the same. */
  #convolved(x: Value, kernel: number, group: number, pads: [number, number]): Value {
    const { width } = this.#options.sizes;
    const from = width / group;
    const filter = this.#weights.normals(width * from * kernel, 1 / Math.sqrt(from * kernel));
    const inputs = [this.#turned(x), this.#graph.floats(filter, [width, from, kernel])];
    return this.#turned(this.#op('Conv', inputs, { group, kernel_shape: [kernel], pads }));
  }

  #turned(x: Value): Value {
    return this.#op('Transpose', [x], { perm: [0, 2, 1] });
  }

  /** @returns 1 for each place that counts as (N, T, 1), and much below 0 for each other as (N, 1, 1, T). */
  #mask(x: Value, lengths: Value): { column: Value; far: Value } {
    const places = this.#range(this.#op('Squeeze', [this.#blocks.sizeOf(x, 1), this.#graph.ints([0])]));
    const ends = this.#unsqueeze(this.#op('Cast', [lengths], { to: 7 }), 1);
    const counts = this.#op('Cast', [this.#op('Less', [places, ends])], { to: 1 });
    const off = this.#op('Sub', [counts, this.#graph.float(1)]);
    const far = this.#op('Mul', [off, this.#graph.float(10_000)]);
    return { column: this.#unsqueeze(counts, 2), far: this.#unsqueeze(this.#unsqueeze(far, 1), 1) };
  }

  /** Of rows 1, 2, …: (T, 560). */
  #positions(x: Value): Value {
    const half = ROW_VALUES / 2;
    const rates = Float32Array.from({ length: half }, (_, d) =>
      Math.exp((-d * Math.log(10_000)) / (half - 1)),
    );
    const rows = this.#range(this.#op('Squeeze', [this.#blocks.sizeOf(x, 1), this.#graph.ints([0])]));
    const numbers = this.#op('Add', [this.#op('Cast', [rows], { to: 1 }), this.#graph.float(1)]);
    const angles = this.#op('Mul', [this.#unsqueeze(numbers, 1), this.#graph.floats(rates, [half])]);
    return this.#op('Concat', [this.#op('Sin', [angles]), this.#op('Cos', [angles])], { axis: 1 });
  }

  /** 0, 1, … below an int64 scalar. */
  #range(count: Value): Value {
    const scalar = (value: number): Value =>
      this.#op('Squeeze', [this.#graph.ints([value]), this.#graph.ints([0])]);
    return this.#op('Range', [scalar(0), count, scalar(1)]);
  }

  #unsqueeze(x: Value, axis: number): Value {
    return this.#op('Unsqueeze', [x, this.#graph.ints([axis])]);
  }

  #op(type: string, inputs: readonly Value[], attributes: Parameters<OnnxGraph['op']>[2] = {}): Value {
    return this.#graph.op(type, inputs, attributes);
  }
}
