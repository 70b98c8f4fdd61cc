import { Tensor } from 'onnxruntime-node';
import { ModelLoadError } from '../recognizer.ts';
import { argmax } from './ctc-search.ts';
import type { ModelMetadata } from './model-metadata.ts';
import type { OnnxModel } from './onnx-session.ts';
import { checkInputs, outputAt } from './tensors.ts';
import type { TokenTable } from './tokens.ts';
import type { TransducerParts } from './zipformer2-transducer.ts';

const BLANK_ID = 0;
/** In a context: no token there. The decoder's graph gives it a zero embedding. */
const NO_TOKEN = -1;
const MAX_CONTEXT = 16;
const MAX_VOCABULARY = 1_000_000;

/** Decoder and joiner of a stateless transducer. */
export class TransducerHead {
  readonly vocabularySize: number;
  /** Tokens that the decoder sees. */
  readonly contextSize: number;
  /** Values of an encoder frame. */
  readonly encoderDim: number;
  /** Never part of the text and, as in the reference engine, never part of a context. */
  readonly unknownId: number | undefined;
  readonly #decoder: OnnxModel;
  readonly #joiner: OnnxModel;
  readonly #decoderDim: number;

  /** @throws ModelLoadError when the three graphs, the metadata and the tokens do not fit together. */
  constructor(parts: TransducerParts, metadata: ModelMetadata, tokens: TokenTable) {
    const { encoder, decoder, joiner } = parts;
    this.#decoder = decoder;
    this.#joiner = joiner;
    this.contextSize = metadata.integer('context_size', 1, MAX_CONTEXT);
    this.vocabularySize = joiner.lastOutputDimension(0);
    const declared = metadata.integer('vocab_size', 1, MAX_VOCABULARY);
    if (declared !== this.vocabularySize) {
      throw new ModelLoadError(
        `${metadata.fileName}: metadata vocab_size is ${declared}, expected ${this.vocabularySize} as in the output of ${joiner.fileName}`,
      );
    }
    this.encoderDim = encoder.lastOutputDimension(0);
    this.#decoderDim = decoder.lastOutputDimension(0);
    checkInputs(decoder, [{ name: nameAt(decoder, 0), type: 'int64', shape: [1, this.contextSize] }]);
    checkInputs(joiner, [
      { name: nameAt(joiner, 0), type: 'float32', shape: [1, this.encoderDim] },
      { name: nameAt(joiner, 1), type: 'float32', shape: [1, this.#decoderDim] },
    ]);
    tokens.checkAgainst(this.vocabularySize, joiner.fileName);
    this.unknownId = tokens.unknownId;
  }

  /** @param context the last `contextSize` tokens. */
  async decode(context: readonly number[]): Promise<Tensor> {
    const y = new Tensor('int64', BigInt64Array.from(context, BigInt), [1, this.contextSize]);
    return outputAt(this.#decoder, await this.#decoder.run({ [nameAt(this.#decoder, 0)]: y }), 0);
  }

  /** @param frame one encoder frame. @returns a score for each token. */
  async join(frame: Float32Array, decoderOut: Tensor): Promise<Float32Array> {
    const outputs = await this.#joiner.run({
      [nameAt(this.#joiner, 0)]: new Tensor('float32', frame, [1, this.encoderDim]),
      [nameAt(this.#joiner, 1)]: decoderOut,
    });
    return outputAt(this.#joiner, outputs, 0).data as Float32Array;
  }
}

function nameAt(onnx: OnnxModel, index: number): string {
  return onnx.inputNames[index] ?? `input ${index}`;
}

/** Greedy transducer search: at most one token an encoder frame. What the decoder said last is kept across steps. */
export class TransducerGreedySearch {
  readonly tokenIds: number[] = [];
  readonly #head: TransducerHead;
  readonly #context: number[];
  #decoderOut: Tensor | undefined;

  constructor(head: TransducerHead) {
    this.#head = head;
    this.#context = [...new Array<number>(head.contextSize - 1).fill(NO_TOKEN), BLANK_ID];
  }

  /** @param encoderOut (frames, encoderDim) row by row. */
  async accept(encoderOut: Float32Array): Promise<void> {
    const { encoderDim, vocabularySize, unknownId } = this.#head;
    this.#decoderOut ??= await this.#head.decode(this.#context);
    for (let start = 0; start < encoderOut.length; start += encoderDim) {
      const scores = await this.#head.join(encoderOut.subarray(start, start + encoderDim), this.#decoderOut);
      const id = argmax(scores, 0, vocabularySize);
      if (id === BLANK_ID || id === unknownId) continue;
      this.tokenIds.push(id);
      this.#context.shift();
      this.#context.push(id);
      this.#decoderOut = await this.#head.decode(this.#context);
    }
  }
}
