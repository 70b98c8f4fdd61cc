import { ModelLoadError } from '../../../recognizer.ts';
import { readStacking, type Stacking } from '../../features/stacked-frames.ts';
import { MAX_DIMENSION } from '../../onnx/model-metadata.ts';
import type { OnnxOutline } from '../../onnx/onnx-reader.ts';
import { checkInputs, checkRowSize, type InputSpec, type TensorSpec } from '../../onnx/tensors.ts';

const MAX_BLOCKS = 1000;

/** An offline Paraformer in one file. */
export interface ParaformerLayout {
  readonly stacking: Stacking;
  readonly vocabularySize: number;
}

/** A streaming Paraformer: what its encoder's metadata says of both graphs. */
export interface StreamingParaformerLayout extends ParaformerLayout {
  /** Values of a row that the encoder gives. */
  readonly encoderDim: number;
  /** What the decoder keeps of the tokens before, one for each of its blocks. */
  readonly caches: readonly TensorSpec[];
}

/** @throws ModelLoadError when metadata and graph do not agree. */
export function paraformerLayout(outline: OnnxOutline): ParaformerLayout {
  const layout = commonLayout(outline);
  checkRowSize(outline, 'vocab_size', layout.vocabularySize, outline);
  return layout;
}

/** @throws ModelLoadError when the two graphs and the metadata of the first do not agree. */
export function streamingParaformerLayout(
  encoder: OnnxOutline,
  decoder: OnnxOutline,
): StreamingParaformerLayout {
  const { metadata } = encoder;
  const layout = commonLayout(encoder);
  const encoderDim = metadata.integer('encoder_output_size', 1, MAX_DIMENSION);
  const blocks = metadata.integer('decoder_num_blocks', 1, MAX_BLOCKS);
  const kernel = metadata.integer('decoder_kernel_size', 2, MAX_DIMENSION);
  const caches = Array.from({ length: blocks }, (_, i): TensorSpec => {
    // Told by their place, whatever they are called.
    const name = decoder.inputs[4 + i]?.name ?? `input ${4 + i}`;
    return { name, type: 'float32', shape: [1, encoderDim, kernel - 1] };
  });
  const rows = (name: string): InputSpec => ({ name, type: 'float32', shape: [1, 1, encoderDim] });
  const count = (name: string): InputSpec => ({ name, type: 'int32', shape: [1] });
  checkInputs(decoder, [
    ...[rows('enc'), count('enc_len'), rows('acoustic_embeds'), count('acoustic_embeds_len')],
    ...caches,
  ]);
  checkRowSize(encoder, 'encoder_output_size', encoderDim, encoder);
  checkRowSize(encoder, 'vocab_size', layout.vocabularySize, decoder);
  const outputs = decoder.outputs.length;
  if (outputs !== 2 + blocks) {
    throw new ModelLoadError(
      `${decoder.fileName}: found ${outputs} outputs, expected ${2 + blocks}: scores, ids and one for each of ${blocks} caches`,
    );
  }
  return { ...layout, encoderDim, caches };
}

function commonLayout(outline: OnnxOutline): ParaformerLayout {
  const stacking = readStacking(outline.metadata);
  checkInputs(outline, [
    { name: 'speech', type: 'float32', shape: [1, 1, stacking.negMean.length] },
    { name: 'speech_lengths', type: 'int32', shape: [1] },
  ]);
  return { stacking, vocabularySize: outline.metadata.integer('vocab_size', 1, MAX_DIMENSION) };
}
