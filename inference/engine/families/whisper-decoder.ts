import { Tensor } from 'onnxruntime-node';
import type { OnnxModel } from '../onnx/onnx-session.ts';
import { outputNamed, rowsOf } from '../onnx/tensors.ts';
import type { TokenDecoder } from '../search/token-decoder.ts';
import type { WhisperLayout } from './whisper.ts';

/** What the encoder gives of a recording: (layers, 1, positions, width). */
export interface EncodedAudio {
  readonly keys: Tensor;
  readonly values: Tensor;
}

/** Caches of the hypotheses: (layers, hypotheses, positions or textContext, width). */
export interface DecoderState {
  readonly keys: Tensor;
  readonly values: Tensor;
  /** Tokens in them. */
  readonly positions: number;
}

/** Whisper's decoder on one recording's audio. */
export class WhisperDecoder implements TokenDecoder<DecoderState> {
  readonly vocabularySize: number;
  readonly maxTokens: number;
  readonly #onnx: OnnxModel;
  readonly #layout: WhisperLayout;
  readonly #audio: EncodedAudio;
  /** By number of hypotheses. */
  readonly #copies = new Map<number, EncodedAudio>();

  constructor(onnx: OnnxModel, layout: WhisperLayout, audio: EncodedAudio) {
    this.vocabularySize = layout.vocabularySize;
    this.maxTokens = layout.textContext;
    this.#onnx = onnx;
    this.#layout = layout;
    this.#audio = audio;
  }

  start(): DecoderState {
    const { layers, width, textContext, cachesGrow } = this.#layout;
    const shape = [layers, 1, cachesGrow ? 0 : textContext, width];
    const empty = (): Tensor => new Tensor('float32', new Float32Array(sizeOf(shape)), shape);
    return { keys: empty(), values: empty(), positions: 0 };
  }

  async run(
    state: DecoderState,
    rows: readonly (readonly number[])[],
  ): Promise<{ scores: Float32Array; state: DecoderState }> {
    const length = rows[0]?.length ?? 0;
    const { keys, values } = this.#audioFor(rows.length);
    const outputs = await this.#onnx.run({
      tokens: new Tensor('int64', BigInt64Array.from(rows.flat(), BigInt), [rows.length, length]),
      in_n_layer_self_k_cache: state.keys,
      in_n_layer_self_v_cache: state.values,
      n_layer_cross_k: keys,
      n_layer_cross_v: values,
      offset: new Tensor('int64', BigInt64Array.of(BigInt(state.positions)), [1]),
    });
    return {
      scores: rowsOf(this.#onnx, outputs, this.vocabularySize),
      state: {
        keys: outputNamed(this.#onnx, outputs, 'out_n_layer_self_k_cache'),
        values: outputNamed(this.#onnx, outputs, 'out_n_layer_self_v_cache'),
        positions: state.positions + length,
      },
    };
  }

  select(state: DecoderState, parents: readonly number[]): DecoderState {
    const isSame = parents.length === state.keys.dims[1] && parents.every((parent, i) => parent === i);
    if (isSame) return state;
    const { positions } = state;
    return {
      keys: hypothesesOf(state.keys, parents, positions),
      values: hypothesesOf(state.values, parents, positions),
      positions,
    };
  }

  #audioFor(hypotheses: number): EncodedAudio {
    if (hypotheses === 1 || this.#layout.sharesAudio) return this.#audio;
    let copy = this.#copies.get(hypotheses);
    if (copy === undefined) {
      const parents = new Array<number>(hypotheses).fill(0);
      const { keys, values } = this.#audio;
      copy = { keys: hypothesesOf(keys, parents), values: hypothesesOf(values, parents) };
      this.#copies.set(hypotheses, copy);
    }
    return copy;
  }
}

/**
 * @param positions how many of them have been written.
 * @returns (layers, parents, …) of a tensor (layers, hypotheses, positions, width)
 */
function hypothesesOf(from: Tensor, parents: readonly number[], positions?: number): Tensor {
  const [layers = 0, hypotheses = 0, length = 0, width = 0] = from.dims;
  const values = from.data;
  if (!(values instanceof Float32Array)) throw new TypeError(`a tensor of ${from.type}, expected float32`);
  const shape = [layers, parents.length, length, width];
  const to = new Float32Array(sizeOf(shape));
  const size = length * width;
  const used = (positions ?? length) * width;
  for (let layer = 0; layer < layers; layer++) {
    for (const [i, parent] of parents.entries()) {
      const start = (layer * hypotheses + parent) * size;
      to.set(values.subarray(start, start + used), (layer * parents.length + i) * size);
    }
  }
  return new Tensor('float32', to, shape);
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
