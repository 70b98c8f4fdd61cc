import { Tensor } from 'onnxruntime-node';
import type { OnnxModel } from '../../onnx/onnx-session.ts';
import { outputNamed, rowsOf, zeroTensor } from '../../onnx/tensors.ts';
import type { TokenDecoder } from '../../search/token-decoder.ts';
import type { WhisperLayout } from './layout.ts';

/** Tensors by the name of the decoder's input. */
type Tensors = Readonly<Record<string, Tensor>>;

export interface DecoderState {
  readonly caches: Tensors;
  /** Of each hypothesis, which row of the caches it goes on from. */
  readonly parents: readonly number[];
  /** Tokens in the caches. */
  readonly positions: number;
}

/** Whisper's decoder on one recording's audio. */
export class WhisperDecoder implements TokenDecoder<DecoderState> {
  readonly vocabularySize: number;
  readonly maxTokens: number;
  readonly #onnx: OnnxModel;
  readonly #layout: WhisperLayout;
  readonly #audio: Tensors;
  /** By number of hypotheses. */
  readonly #copies = new Map<number, Tensors>();

  /** @param audio what the encoder gives of a recording, by the layout's names. */
  constructor(onnx: OnnxModel, layout: WhisperLayout, audio: Tensors) {
    this.vocabularySize = layout.vocabularySize;
    this.maxTokens = layout.textContext;
    this.#onnx = onnx;
    this.#layout = layout;
    this.#audio = audio;
  }

  start(): DecoderState {
    const caches = this.#layout.caches.map(({ spec }) => [spec.name, zeroTensor(spec)] as const);
    return { caches: Object.fromEntries(caches), parents: [0], positions: 0 };
  }

  async run(
    state: DecoderState,
    rows: readonly (readonly number[])[],
  ): Promise<{ scores: Float32Array; state: DecoderState }> {
    const length = rows[0]?.length ?? 0;
    const outputs = await this.#onnx.run({
      tokens: integers(rows.flat(), [rows.length, length]),
      ...(this.#layout.isStacked ? this.#stacked(state) : this.#layered(state)),
    });
    const caches = this.#layout.caches.map(
      ({ spec, next }) => [spec.name, outputNamed(this.#onnx, outputs, next)] as const,
    );
    return {
      scores: rowsOf(this.#onnx, outputs, this.vocabularySize),
      state: {
        caches: Object.fromEntries(caches),
        parents: [...rows.keys()],
        positions: state.positions + length,
      },
    };
  }

  select(state: DecoderState, parents: readonly number[]): DecoderState {
    return { ...state, parents: parents.map((parent) => state.parents[parent] ?? 0) };
  }

  #layered({ caches, parents }: DecoderState): Tensors {
    return { ...this.#audio, ...caches, parents: integers(parents, [parents.length]) };
  }

  #stacked({ caches, parents, positions }: DecoderState): Tensors {
    let audio = this.#copies.get(parents.length);
    if (audio === undefined) {
      audio = hypothesesOf(this.#audio, new Array<number>(parents.length).fill(0));
      this.#copies.set(parents.length, audio);
    }
    return { ...audio, ...hypothesesOf(caches, parents, positions), offset: integers([positions], [1]) };
  }
}

function integers(values: readonly number[], shape: readonly number[]): Tensor {
  return new Tensor('int64', BigInt64Array.from(values, BigInt), shape);
}

/**
 * @param tensors (layers, hypotheses, positions, width)
 * @param positions how many of them have been written.
 * @returns (layers, parents, …); the same if nothing changes.
 */
function hypothesesOf(tensors: Tensors, parents: readonly number[], positions?: number): Tensors {
  const selected = Object.entries(tensors).map(([name, from]) => {
    const [layers = 0, hypotheses = 0, length = 0, width = 0] = from.dims;
    if (parents.length === hypotheses && parents.every((parent, i) => parent === i))
      return [name, from] as const;
    const values = from.data;
    if (!(values instanceof Float32Array)) throw new TypeError(`a tensor of ${from.type}, expected float32`);
    const size = length * width;
    const used = (positions ?? length) * width;
    const to = new Float32Array(layers * parents.length * size);
    for (let layer = 0; layer < layers; layer++) {
      for (const [i, parent] of parents.entries()) {
        const start = (layer * hypotheses + parent) * size;
        to.set(values.subarray(start, start + used), (layer * parents.length + i) * size);
      }
    }
    return [name, new Tensor('float32', to, [layers, parents.length, length, width])] as const;
  });
  return Object.fromEntries(selected);
}
