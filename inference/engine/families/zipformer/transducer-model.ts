import { Tensor } from 'onnxruntime-node';
import { quoted } from '../../../../common/errors/printable.ts';
import { InferenceError, ModelLoadError } from '../../../recognizer.ts';
import type { OnnxOutline } from '../../onnx/onnx-reader.ts';
import type { OnnxModel } from '../../onnx/onnx-session.ts';
import { checkInputs, dimensionText, floatsOf, resultOf } from '../../onnx/tensors.ts';
import type { StreamingNetwork } from '../../partition/streaming-network.ts';
import type { AcousticModel, StepDecoder } from '../../recording/acoustic-model.ts';
import { TransducerGreedySearch, type TransducerHead } from '../../search/transducer-search.ts';
import type { TokenTable } from '../../text/tokens.ts';
import { TranscriptWriter } from '../../text/transcript.ts';

const MAX_CONTEXT = 16;
const MAX_VOCABULARY = 1_000_000;

export interface TransducerPart {
  readonly outline: OnnxOutline;
  readonly onnx: OnnxModel;
}

/** A Zipformer encoder with a stateless decoder and a joiner. */
export class TransducerModel implements AcousticModel {
  readonly transcript: TranscriptWriter;
  readonly vocabularySize: number;
  readonly layout: StreamingNetwork['layout'];
  readonly onnx: OnnxModel;
  readonly #encoder: StreamingNetwork;
  readonly #decoder: TransducerPart;
  readonly #joiner: TransducerPart;
  readonly #unknownId: number | undefined;
  readonly #contextSize: number;
  readonly #encoderDim: number;

  /** @throws ModelLoadError when the three graphs, their metadata and the tokens do not fit together. */
  constructor(
    encoder: StreamingNetwork,
    decoder: TransducerPart,
    joiner: TransducerPart,
    tokens: TokenTable,
  ) {
    this.transcript = new TranscriptWriter(tokens, 'transducer');
    this.layout = encoder.layout;
    this.onnx = encoder.onnx;
    this.#encoder = encoder;
    this.#decoder = decoder;
    this.#joiner = joiner;
    this.#unknownId = tokens.unknownId;
    const { metadata } = decoder.outline;
    this.#contextSize = metadata.integer('context_size', 1, MAX_CONTEXT);
    this.vocabularySize = metadata.integer('vocab_size', 1, MAX_VOCABULARY);
    // Exporters may leave the size of a graph's output open. They do not leave open what the joiner takes.
    const found = joiner.onnx.lastOutputDimension() ?? this.vocabularySize;
    if (found !== this.vocabularySize) {
      throw new ModelLoadError(
        `${metadata.fileName}: metadata vocab_size is ${this.vocabularySize}, expected ${found} as in the output of ${joiner.onnx.fileName}`,
      );
    }
    this.#encoderDim = encoder.onnx.lastOutputDimension() ?? lastInputDimension(joiner, 0);
    const decoderDim = decoder.onnx.lastOutputDimension() ?? lastInputDimension(joiner, 1);
    checkInputs(decoder.outline, [
      { name: inputName(decoder, 0), type: 'int64', shape: [1, this.#contextSize] },
    ]);
    checkInputs(joiner.outline, [
      { name: inputName(joiner, 0), type: 'float32', shape: [1, this.#encoderDim] },
      { name: inputName(joiner, 1), type: 'float32', shape: [1, decoderDim] },
    ]);
    tokens.checkAgainst(this.vocabularySize, joiner.onnx.fileName);
  }

  open(): StepDecoder {
    const encode = this.#encoder.open(this.#encoderDim);
    const search = new TransducerGreedySearch(this.#head());
    return {
      tokenIds: search.tokenIds,
      run: async (steps, signal) => {
        for (const frames of await encode(steps, signal)) {
          signal.throwIfAborted();
          await search.accept(frames);
        }
      },
    };
  }

  #head(): TransducerHead<Tensor> {
    const decoder = this.#decoder.onnx;
    const joiner = this.#joiner.onnx;
    const y = inputName(this.#decoder, 0);
    const encoderOut = inputName(this.#joiner, 0);
    const decoderOut = inputName(this.#joiner, 1);
    return {
      contextSize: this.#contextSize,
      encoderDim: this.#encoderDim,
      vocabularySize: this.vocabularySize,
      unknownId: this.#unknownId,
      decode: async (context) => {
        const tokens = new Tensor('int64', BigInt64Array.from(context, BigInt), [1, this.#contextSize]);
        return resultOf(decoder, await decoder.run({ [y]: tokens }));
      },
      join: async (frame, decoded) => {
        const input = new Tensor('float32', frame, [1, this.#encoderDim]);
        const outputs = await joiner.run({ [encoderOut]: input, [decoderOut]: decoded });
        const scores = floatsOf(joiner, outputs);
        if (scores.length !== this.vocabularySize) {
          throw new InferenceError(
            `${joiner.fileName}: the run gave ${scores.length} scores, expected ${this.vocabularySize}`,
          );
        }
        return scores;
      },
    };
  }
}

function inputName(part: TransducerPart, index: number): string {
  return part.outline.inputs[index]?.name ?? `input ${index}`;
}

function lastInputDimension(part: TransducerPart, index: number): number {
  const last = part.outline.inputs[index]?.shape.at(-1);
  if (typeof last === 'number' && last >= 1) return last;
  throw new ModelLoadError(
    `${part.onnx.fileName}: input ${quoted(inputName(part, index))} has last dimension ${dimensionText(last)}, expected a number from 1`,
  );
}
