import { Tensor } from 'onnxruntime-node';
import type { AcousticModel, StepDecoder } from './acoustic-model.ts';
import { CtcGreedySearch } from './ctc-search.ts';
import { MEL_BINS } from './kaldi-fbank.ts';
import type { ModelMetadata } from './model-metadata.ts';
import type { OnnxModel } from './onnx-session.ts';
import { checkInputs, outputAt, type TensorSpec, zeroTensor } from './tensors.ts';
import type { TokenTable } from './tokens.ts';

const MAX_FRAMES = 3000;
const MAX_DIMENSION = 1_000_000;

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
  readonly #states: readonly TensorSpec[];
  readonly #blankId: number;

  constructor(onnx: OnnxModel, metadata: ModelMetadata, tokens: TokenTable) {
    this.#onnx = onnx;
    this.provider = onnx.provider;
    this.tokens = tokens;
    this.windowFrames = metadata.integer('window_size', 1, MAX_FRAMES);
    this.shiftFrames = metadata.integer('chunk_shift', 2, this.windowFrames);
    this.#states = stateSpecs(metadata);
    checkInputs(onnx, [
      { name: NEMO_INPUTS[0], type: 'float32', shape: [1, MEL_BINS, this.windowFrames] },
      { name: NEMO_INPUTS[1], type: 'int64', shape: [1] },
      ...this.#states,
    ]);
    this.vocabularySize = onnx.lastOutputDimension(0);
    tokens.checkAgainst(this.vocabularySize, onnx.fileName);
    this.#blankId = tokens.ctcBlankId;
  }

  open(): StepDecoder {
    return new NemoCtcDecoder(this.#onnx, this.#states.map(zeroTensor), this);
  }

  get blankId(): number {
    return this.#blankId;
  }

  async release(): Promise<void> {
    await this.#onnx.release();
  }
}

function stateSpecs(metadata: ModelMetadata): TensorSpec[] {
  const dims = (name: string): number[] =>
    [1, 2, 3].map((n) => metadata.integer(`${name}_dim${n}`, 1, MAX_DIMENSION));
  return [
    { name: NEMO_INPUTS[2], type: 'float32', shape: [1, ...dims(NEMO_INPUTS[2])] },
    { name: NEMO_INPUTS[3], type: 'float32', shape: [1, ...dims(NEMO_INPUTS[3])] },
    { name: NEMO_INPUTS[4], type: 'int64', shape: [1] },
  ];
}

class NemoCtcDecoder implements StepDecoder {
  readonly #onnx: OnnxModel;
  readonly #search: CtcGreedySearch;
  readonly #signal: Float32Array;
  readonly #feeds: Record<string, Tensor>;
  readonly #windowFrames: number;
  readonly #vocabularySize: number;

  constructor(onnx: OnnxModel, states: readonly Tensor[], model: NemoCtcModel) {
    this.#onnx = onnx;
    this.#windowFrames = model.windowFrames;
    this.#vocabularySize = model.vocabularySize;
    this.#search = new CtcGreedySearch(model.blankId);
    this.#signal = new Float32Array(model.windowFrames * MEL_BINS);
    const [audioSignal, length, ...stateNames] = NEMO_INPUTS;
    this.#feeds = {
      [audioSignal]: new Tensor('float32', this.#signal, [1, MEL_BINS, model.windowFrames]),
      [length]: new Tensor('int64', BigInt64Array.of(BigInt(model.windowFrames)), [1]),
    };
    for (const [i, name] of stateNames.entries()) {
      const state = states[i];
      if (state !== undefined) this.#feeds[name] = state;
    }
  }

  get tokenIds(): readonly number[] {
    return this.#search.tokenIds;
  }

  async step(frames: Float32Array): Promise<void> {
    transpose(frames, this.#windowFrames, MEL_BINS, this.#signal);
    const outputs = await this.#onnx.run(this.#feeds);
    // Output 1 is the number of output frames; the states follow it.
    for (const [i, name] of NEMO_INPUTS.slice(2).entries())
      this.#feeds[name] = outputAt(this.#onnx, outputs, i + 2);
    const scores = outputAt(this.#onnx, outputs, 0);
    this.#search.accept(scores.data as Float32Array, this.#vocabularySize);
  }
}

/** (rows, columns) to (columns, rows). */
function transpose(from: Float32Array, rows: number, columns: number, to: Float32Array): void {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      to[column * rows + row] = from[row * columns + column] ?? 0;
  }
}
