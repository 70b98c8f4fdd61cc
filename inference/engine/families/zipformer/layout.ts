import { ModelLoadError } from '../../../recognizer.ts';
import { MEL_BINS } from '../../features/frames.ts';
import { normalizeWhisperWindow } from '../../features/whisper-fbank.ts';
import { MAX_DIMENSION, MAX_WINDOW_FRAMES, type ModelMetadata } from '../../onnx/model-metadata.ts';
import { checkSignature, type NetworkSignature } from '../../onnx/network-signature.ts';
import type { OnnxOutline } from '../../onnx/onnx-reader.ts';
import type { TensorSpec } from '../../onnx/tensors.ts';
import type { StreamingLayout } from '../../partition/streaming-network.ts';

/** `model_type` in the metadata of icefall's streaming exports: the second Zipformer, and the first. */
export type ZipformerType = 'zipformer2' | 'zipformer';

const MAX_LAYERS = 1000;
/** Channels, frames and bins of the state in front of the first layer: fixed by the architecture. */
const EMBED_STATE_SHAPE = [1, 128, 3, 19] as const;

export function modelType({ metadata }: OnnxOutline): string | undefined {
  return metadata.text('model_type');
}

/**
 * @param outline of a CTC model, or of a transducer's encoder.
 * @throws ModelLoadError when metadata and graph do not agree.
 */
export function zipformerLayout(outline: OnnxOutline): StreamingLayout {
  const { metadata } = outline;
  const isFirst = modelType(outline) === 'zipformer';
  const windowFrames = metadata.integer('T', 1, MAX_WINDOW_FRAMES);
  const shiftFrames = metadata.integer('decode_chunk_len', 2, windowFrames);
  const nameOf = (input: number): string => outline.inputs[input]?.name ?? `input ${input}`;
  const signature: NetworkSignature = {
    input: { name: nameOf(0), type: 'float32', shape: [1, windowFrames, MEL_BINS] },
    // States are told by their place, whatever they are called.
    states: (isFirst ? firstStates(metadata) : secondStates(metadata)).map((state, i) => ({
      ...state,
      name: nameOf(i + 1),
    })),
  };
  checkSignature(outline, signature);
  const sizes = { windowFrames, shiftFrames, signature };
  return metadata.text('feature') === 'whisper'
    ? { ...sizes, features: 'whisper', fillInput: normalizeWhisperWindow }
    : { ...sizes, features: 'kaldi', fillInput: (frames, input) => input.set(frames) };
}

type StateShape = Omit<TensorSpec, 'name'>;

/** Metadata with one number for each stack of layers. */
function stacksOf(metadata: ModelMetadata) {
  const dims = metadata.integers('encoder_dims', 4, MAX_DIMENSION);
  const list = (key: string): readonly number[] => metadata.integers(key, 1, MAX_DIMENSION, dims.length);
  const layers = metadata.integers('num_encoder_layers', 1, MAX_LAYERS, dims.length);
  const layerCount = layers.reduce((sum, count) => sum + count, 0);
  if (layerCount > MAX_LAYERS) {
    throw new ModelLoadError(
      `${metadata.fileName}: metadata num_encoder_layers adds up to ${layerCount}, expected at most ${MAX_LAYERS}`,
    );
  }
  return { dims, layers, list };
}

/** Seven kinds of states, each over all stacks: the counts of frames seen first. Source: `export-onnx.py` of the recipe above. */
function firstStates(metadata: ModelMetadata): StateShape[] {
  const { dims, layers, list } = stacksOf(metadata);
  const attention = list('attention_dims');
  const kernels = list('cnn_module_kernels');
  const left = list('left_context_len');
  const each = (shape: (layers: number, stack: number) => readonly number[]): StateShape[] =>
    layers.map((count, stack) => ({ type: 'float32', shape: shape(count, stack) }));
  const at = (values: readonly number[], stack: number): number => values[stack] ?? 0;
  const value = each((count, s) => [count, at(left, s), 1, Math.floor(at(attention, s) / 2)]);
  const convolution = each((count, s) => [count, 1, at(dims, s), at(kernels, s) - 1]);
  return [
    ...layers.map((count) => ({ type: 'int64', shape: [count, 1] }) as const),
    ...each((count, s) => [count, 1, at(dims, s)]),
    ...each((count, s) => [count, at(left, s), 1, at(attention, s)]),
    ...[value, value, convolution, convolution].flat(),
  ];
}

/** Six states a layer, then the embedding's and the count of frames seen. */
function secondStates(metadata: ModelMetadata): StateShape[] {
  const { dims, layers, list } = stacksOf(metadata);
  const queryHeadDims = list('query_head_dims');
  const valueHeadDims = list('value_head_dims');
  const heads = list('num_heads');
  const kernels = list('cnn_module_kernels');
  const left = list('left_context_len');
  const states: StateShape[] = [];
  for (const [stack, dim] of dims.entries()) {
    const at = (values: readonly number[]): number => values[stack] ?? 0;
    const key = [at(left), 1, at(queryHeadDims) * at(heads)];
    const nonlinearAttention = [1, 1, at(left), Math.floor((3 * dim) / 4)];
    const value = [at(left), 1, at(valueHeadDims) * at(heads)];
    const convolution = [1, dim, Math.floor(at(kernels) / 2)];
    const layer = [key, nonlinearAttention, value, value, convolution, convolution];
    for (let i = 0; i < at(layers); i++)
      states.push(...layer.map((shape) => ({ type: 'float32' as const, shape })));
  }
  states.push({ type: 'float32', shape: EMBED_STATE_SHAPE });
  states.push({ type: 'int64', shape: [1] });
  return states;
}
