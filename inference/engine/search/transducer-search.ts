import { argmax } from './ctc-search.ts';

const BLANK_ID = 0;
/** In a context: no token there. The decoder's graph gives it a zero embedding. */
const NO_TOKEN = -1;

/** Decoder and joiner of a transducer. `Decoded` is what the decoder makes of a context. */
export interface TransducerHead<Decoded> {
  /** Tokens that the decoder sees. */
  readonly contextSize: number;
  /** Values of an encoder frame. */
  readonly encoderDim: number;
  readonly vocabularySize: number;
  /** Counts as blank, as in sherpa-onnx: never part of the text nor of a context. */
  readonly unknownId: number | undefined;
  /** @param context the last `contextSize` tokens. */
  decode(context: readonly number[]): Promise<Decoded>;
  /** @returns a score for each token. */
  join(frame: Float32Array, decoded: Decoded): Promise<Float32Array>;
}

/**
 * Greedy search of a transducer, with at most one token an encoder frame. The decoder's last output is kept across steps.
 * Source: Graves, "Sequence Transduction with Recurrent Neural Networks", 2012.
 */
export class TransducerGreedySearch<Decoded> {
  readonly tokenIds: number[] = [];
  readonly #head: TransducerHead<Decoded>;
  readonly #context: number[];
  #decoded: Decoded | undefined;

  constructor(head: TransducerHead<Decoded>) {
    this.#head = head;
    this.#context = [...new Array<number>(head.contextSize - 1).fill(NO_TOKEN), BLANK_ID];
  }

  /** @param encoderOut (frames, encoderDim) row by row. */
  async accept(encoderOut: Float32Array): Promise<void> {
    const { encoderDim, vocabularySize, unknownId } = this.#head;
    this.#decoded ??= await this.#head.decode(this.#context);
    for (let start = 0; start < encoderOut.length; start += encoderDim) {
      const scores = await this.#head.join(encoderOut.subarray(start, start + encoderDim), this.#decoded);
      const id = argmax(scores, 0, vocabularySize);
      if (id === BLANK_ID || id === unknownId) continue;
      this.tokenIds.push(id);
      this.#context.shift();
      this.#context.push(id);
      this.#decoded = await this.#head.decode(this.#context);
    }
  }
}
