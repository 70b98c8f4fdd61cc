import { quoted } from '../../../../common/errors/printable.ts';
import { ModelLoadError } from '../../../recognizer.ts';
import { readStacking, type Stacking } from '../../features/stacked-frames.ts';
import { MAX_DIMENSION } from '../../onnx/model-metadata.ts';
import type { OnnxOutline } from '../../onnx/onnx-reader.ts';
import { checkInputs, checkRowSize, type InputSpec } from '../../onnx/tensors.ts';

/** Of int16, from [-1, 1]. */
const FULL_SCALE = 32_768;

/**
 * Sizes and numbers of a SenseVoice in the file that sherpa-onnx's export script writes
 * (`scripts/sense-voice/export-onnx.py` there).
 */
export interface SenseVoiceLayout {
  /** What samples in [-1, 1] are multiplied by. */
  readonly sampleScale: number;
  readonly stacking: Stacking;
  readonly language: number;
  readonly textNorm: number;
  readonly vocabularySize: number;
  readonly blankId: number;
}

/**
 * Asks for Chinese, whatever language the model would guess, with digits and punctuation ("inverse text normalisation").
 * @throws ModelLoadError when it is another model in this format, or metadata and graph do not agree.
 */
export function senseVoiceLayout(outline: OnnxOutline): SenseVoiceLayout {
  const { metadata, fileName } = outline;
  const comment = metadata.text('comment') ?? '';
  if (comment.includes('Nano')) {
    throw new ModelLoadError(
      `${fileName}: found another model in SenseVoice's format (metadata comment is ${quoted(comment)}), expected SenseVoice itself, such as sherpa-onnx-sense-voice-zh-en-ja-ko-yue-int8-2024-07-17`,
    );
  }
  const stacking = readStacking(metadata);
  const vocabularySize = metadata.integer('vocab_size', 1, MAX_DIMENSION);
  const number = (name: string): InputSpec => ({ name, type: 'int32', shape: [1] });
  checkInputs(outline, [
    { name: 'x', type: 'float32', shape: [1, 1, stacking.negMean.length] },
    ...['x_length', 'language', 'text_norm'].map(number),
  ]);
  checkRowSize(outline, 'vocab_size', vocabularySize, outline);
  return {
    sampleScale: metadata.integer('normalize_samples', 0, 1) === 0 ? FULL_SCALE : 1,
    stacking,
    language: metadata.integer('lang_zh', 0, MAX_DIMENSION),
    textNorm: metadata.integer('with_itn', 0, MAX_DIMENSION),
    vocabularySize,
    blankId:
      metadata.text('blank_id') === undefined ? 0 : metadata.integer('blank_id', 0, vocabularySize - 1),
  };
}
