import { Tensor } from 'onnxruntime-node';
import { MEL_BINS, transpose } from '../features/frames.ts';
import { MAX_DIMENSION, MAX_WINDOW_FRAMES } from '../onnx/model-metadata.ts';
import { checkSignature, type NetworkSignature } from '../onnx/network-signature.ts';
import type { OnnxOutline } from '../onnx/onnx-outline.ts';
import type { TensorSpec } from '../onnx/tensors.ts';
import type { StreamingLayout } from '../partition/streaming-network.ts';

/** Inputs in the order in which NeMo exports them: features, their length, three states. */
const NEMO_INPUTS = [
  'audio_signal',
  'length',
  'cache_last_channel',
  'cache_last_time',
  'cache_last_channel_len',
] as const;

/** Whether the file is one of NeMo's cache-aware streaming CTC exports (Noroozi et al., "Stateful Conformer with Cache-based Inference", 2023). */
export function isNemoCtc(outline: OnnxOutline): boolean {
  return NEMO_INPUTS.every((name) => outline.inputs.some((input) => input.name === name));
}

/** From the metadata of sherpa-onnx's export script: `window_size`, `chunk_shift`, sizes of the caches. @throws ModelLoadError if they do not fit the graph. */
export function nemoCtcLayout(outline: OnnxOutline): StreamingLayout {
  const { metadata } = outline;
  const windowFrames = metadata.integer('window_size', 1, MAX_WINDOW_FRAMES);
  const shiftFrames = metadata.integer('chunk_shift', 2, windowFrames);
  const [audioSignal, length, lastChannel, lastTime, lastChannelLength] = NEMO_INPUTS;
  const cache = (name: string): TensorSpec => ({
    name,
    type: 'float32',
    shape: [1, ...[1, 2, 3].map((n) => metadata.integer(`${name}_dim${n}`, 1, MAX_DIMENSION))],
  });
  const lengthSpec: TensorSpec = { name: length, type: 'int64', shape: [1] };
  const signature: NetworkSignature = {
    input: { name: audioSignal, type: 'float32', shape: [1, MEL_BINS, windowFrames] },
    constants: { [length]: new Tensor('int64', BigInt64Array.of(BigInt(windowFrames)), [1]) },
    states: [cache(lastChannel), cache(lastTime), { name: lastChannelLength, type: 'int64', shape: [1] }],
    // Output 1 is the number of output frames.
    firstStateOutput: 2,
  };
  checkSignature(outline, [signature.input, lengthSpec, ...signature.states], signature);
  return {
    features: 'kaldi',
    windowFrames,
    shiftFrames,
    signature,
    fillInput: (frames, input) => transpose(frames, windowFrames, MEL_BINS, input),
  };
}
