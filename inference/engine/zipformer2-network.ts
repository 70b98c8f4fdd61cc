import { MEL_BINS } from './frames.ts';
import { MAX_DIMENSION, MAX_WINDOW_FRAMES, type ModelMetadata } from './model-metadata.ts';
import type { OnnxModel } from './onnx-session.ts';
import { checkOutputs, type NetworkSignature, StatefulNetwork } from './stateful-network.ts';
import { checkInputs, type TensorSpec } from './tensors.ts';
import { normalizeWhisperWindow } from './whisper-fbank.ts';

const MAX_LAYERS = 1000;
/** Channels, frames and bins of the state in front of the first layer: fixed by the architecture. */
const EMBED_STATE_SHAPE = [1, 128, 3, 19] as const;

/** The network of a streaming Zipformer2 file: a whole CTC model, or the encoder of a transducer. */
export class Zipformer2Network {
  readonly windowFrames: number;
  readonly shiftFrames: number;
  readonly features: 'kaldi' | 'whisper';
  readonly #onnx: OnnxModel;
  readonly #signature: NetworkSignature;

  /** @throws ModelLoadError when metadata and graph do not agree. */
  constructor(onnx: OnnxModel, metadata: ModelMetadata) {
    this.#onnx = onnx;
    this.windowFrames = metadata.integer('T', 1, MAX_WINDOW_FRAMES);
    this.shiftFrames = metadata.integer('decode_chunk_len', 2, this.windowFrames);
    this.features = metadata.text('feature') === 'whisper' ? 'whisper' : 'kaldi';
    this.#signature = {
      input: { name: onnx.inputNames[0] ?? 'x', type: 'float32', shape: [1, this.windowFrames, MEL_BINS] },
      constants: {},
      states: stateShapes(metadata).map((state, i) => ({
        ...state,
        name: onnx.inputNames[i + 1] ?? state.name,
      })),
      firstStateOutput: 1,
    };
    checkInputs(onnx, [this.#signature.input, ...this.#signature.states]);
    checkOutputs(onnx, this.#signature);
  }

  /** Zero state. @returns a function from the frames of a step, (windowFrames, 80), to output 0. */
  open(): (frames: Float32Array) => Promise<Float32Array> {
    const network = new StatefulNetwork(this.#onnx, this.#signature);
    return (frames) => {
      switch (this.features) {
        case 'kaldi':
          network.input.set(frames);
          break;
        case 'whisper':
          normalizeWhisperWindow(frames, network.input);
          break;
        default:
          this.features satisfies never;
      }
      return network.run();
    };
  }
}

/** Six states a layer, then the embedding's and the count of frames seen; passed by position. */
function stateShapes(metadata: ModelMetadata): TensorSpec[] {
  const dims = metadata.integers('encoder_dims', 4, MAX_DIMENSION);
  const list = (key: string): readonly number[] => metadata.integers(key, 1, MAX_DIMENSION, dims.length);
  const layers = metadata.integers('num_encoder_layers', 1, MAX_LAYERS, dims.length);
  const queries = list('query_head_dims');
  const values = list('value_head_dims');
  const heads = list('num_heads');
  const kernels = list('cnn_module_kernels');
  const lefts = list('left_context_len');
  const states: TensorSpec[] = [];
  const add = (name: string, shape: number[]): void => {
    states.push({ name: `${name}_${Math.floor(states.length / 6)}`, type: 'float32', shape });
  };
  for (const [stack, dim] of dims.entries()) {
    const at = (values: readonly number[]): number => values[stack] ?? 0;
    const key = at(queries) * at(heads);
    const value = at(values) * at(heads);
    const kernel = Math.floor(at(kernels) / 2);
    for (let layer = 0; layer < at(layers); layer++) {
      add('cached_key', [at(lefts), 1, key]);
      add('cached_nonlin_attn', [1, 1, at(lefts), Math.floor((3 * dim) / 4)]);
      add('cached_val1', [at(lefts), 1, value]);
      add('cached_val2', [at(lefts), 1, value]);
      add('cached_conv1', [1, dim, kernel]);
      add('cached_conv2', [1, dim, kernel]);
    }
  }
  states.push({ name: 'embed_states', type: 'float32', shape: EMBED_STATE_SHAPE });
  states.push({ name: 'processed_lens', type: 'int64', shape: [1] });
  return states;
}
