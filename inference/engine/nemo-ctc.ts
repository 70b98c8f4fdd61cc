import { Tensor } from 'onnxruntime-node';
import type { AcousticModel, StepDecoder } from './acoustic-model.ts';
import { CtcGreedySearch } from './ctc-search.ts';
import { MEL_BINS } from './frames.ts';
import { MAX_DIMENSION, MAX_WINDOW_FRAMES, type ModelMetadata } from './model-metadata.ts';
import type { OnnxModel } from './onnx-session.ts';
import { checkOutputs, type NetworkSignature, StatefulNetwork } from './stateful-network.ts';
import { checkInputs, type TensorSpec } from './tensors.ts';
import type { TokenTable } from './tokens.ts';

/** Inputs in the order in which NeMo exports them: features, their length, three states. */
export const NEMO_INPUTS = [
  'audio_signal',
  'length',
  'cache_last_channel',
  'cache_last_time',
  'cache_last_channel_len',
] as const;

/** NeMo's cache-aware streaming CTC export. */
export class NemoCtcModel implements AcousticModel {
  readonly family = 'nemo-ctc';
  readonly features = 'kaldi';
  readonly tokens: TokenTable;
  readonly windowFrames: number;
  readonly shiftFrames: number;
  readonly vocabularySize: number;
  readonly provider: string;
  readonly #onnx: OnnxModel;
  readonly #signature: NetworkSignature;
  readonly #blankId: number;

  /** @throws ModelLoadError when metadata, graph and tokens do not agree. */
  constructor(onnx: OnnxModel, metadata: ModelMetadata, tokens: TokenTable) {
    this.#onnx = onnx;
    this.provider = onnx.provider;
    this.tokens = tokens;
    this.windowFrames = metadata.integer('window_size', 1, MAX_WINDOW_FRAMES);
    this.shiftFrames = metadata.integer('chunk_shift', 2, this.windowFrames);
    this.#signature = signature(metadata, this.windowFrames);
    checkInputs(onnx, [
      this.#signature.input,
      { name: NEMO_INPUTS[1], type: 'int64', shape: [1] },
      ...this.#signature.states,
    ]);
    checkOutputs(onnx, this.#signature);
    this.vocabularySize = onnx.lastOutputDimension(0);
    tokens.checkAgainst(this.vocabularySize, onnx.fileName);
    this.#blankId = tokens.ctcBlankId;
  }

  open(): StepDecoder {
    const network = new StatefulNetwork(this.#onnx, this.#signature);
    const search = new CtcGreedySearch(this.#blankId);
    return {
      tokenIds: search.tokenIds,
      step: async (frames) => {
        transpose(frames, this.windowFrames, MEL_BINS, network.input);
        search.accept(await network.run(), this.vocabularySize);
      },
    };
  }

  async release(): Promise<void> {
    await this.#onnx.release();
  }
}

function signature(metadata: ModelMetadata, windowFrames: number): NetworkSignature {
  const [audioSignal, length, lastChannel, lastTime, lastChannelLength] = NEMO_INPUTS;
  const cache = (name: string): TensorSpec => ({
    name,
    type: 'float32',
    shape: [1, ...[1, 2, 3].map((n) => metadata.integer(`${name}_dim${n}`, 1, MAX_DIMENSION))],
  });
  return {
    input: { name: audioSignal, type: 'float32', shape: [1, MEL_BINS, windowFrames] },
    constants: { [length]: new Tensor('int64', BigInt64Array.of(BigInt(windowFrames)), [1]) },
    states: [cache(lastChannel), cache(lastTime), { name: lastChannelLength, type: 'int64', shape: [1] }],
    // Output 1 is the number of output frames.
    firstStateOutput: 2,
  };
}

/** (rows, columns) to (columns, rows). */
function transpose(from: Float32Array, rows: number, columns: number, to: Float32Array): void {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      to[column * rows + row] = from[row * columns + column] ?? 0;
  }
}
