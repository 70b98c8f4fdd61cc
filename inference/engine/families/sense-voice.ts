import { quoted } from '../../../common/errors/printable.ts';
import { ModelLoadError } from '../../recognizer.ts';
import { MEL_BINS } from '../features/frames.ts';
import { MAX_DIMENSION, MAX_WINDOW_FRAMES } from '../onnx/model-metadata.ts';
import type { OnnxOutline } from '../onnx/onnx-outline.ts';
import { checkInputs, dimensionText, type InputSpec } from '../onnx/tensors.ts';

/** Of int16, from [-1, 1]. */
const FULL_SCALE = 32_768;

/** Sizes and numbers of a SenseVoice in the file that sherpa-onnx's export script writes (`scripts/sense-voice/export-onnx.py` there). */
export interface SenseVoiceLayout {
  /** What samples in [-1, 1] are multiplied by. */
  readonly sampleScale: number;
  /** Frames in a row of the input. */
  readonly rowFrames: number;
  /** Frames from one row to the next. */
  readonly shiftFrames: number;
  /** For each value of a row, what is added to it, and what it is multiplied by then. */
  readonly negMean: Float32Array;
  readonly inverseDeviation: Float32Array;
  readonly language: number;
  readonly textNorm: number;
  readonly vocabularySize: number;
  readonly blankId: number;
}

/** Whether it is a SenseVoice (An et al., "FunAudioLLM: Voice Understanding and Generation Foundation Models …", 2024). */
export function isSenseVoice(outline: OnnxOutline): boolean {
  return outline.metadata.text('model_type') === 'sense_voice_ctc';
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
  const rowFrames = metadata.integer('lfr_window_size', 1, MAX_WINDOW_FRAMES);
  const rowValues = rowFrames * MEL_BINS;
  const vocabularySize = metadata.integer('vocab_size', 1, MAX_DIMENSION);
  const number = (name: string): InputSpec => ({ name, type: 'int32', shape: [1] });
  checkInputs(outline, [
    { name: 'x', type: 'float32', shape: [1, 1, rowValues] },
    ...['x_length', 'language', 'text_norm'].map(number),
  ]);
  const found = outline.outputs[0]?.shape.at(-1);
  if (typeof found === 'number' && found !== vocabularySize) {
    throw new ModelLoadError(
      `${fileName}: metadata vocab_size is ${vocabularySize}, expected ${dimensionText(found)} as in its output`,
    );
  }
  return {
    sampleScale: metadata.integer('normalize_samples', 0, 1) === 0 ? FULL_SCALE : 1,
    rowFrames,
    shiftFrames: metadata.integer('lfr_window_shift', 1, rowFrames),
    negMean: metadata.numbers('neg_mean', rowValues),
    inverseDeviation: metadata.numbers('inv_stddev', rowValues),
    language: metadata.integer('lang_zh', 0, MAX_DIMENSION),
    textNorm: metadata.integer('with_itn', 0, MAX_DIMENSION),
    vocabularySize,
    blankId:
      metadata.text('blank_id') === undefined ? 0 : metadata.integer('blank_id', 0, vocabularySize - 1),
  };
}

/**
 * What the graph takes, normalised. If a row has 7 frames, row i holds frames shift·i − 3 … shift·i + 3. In place of those before the
 * first and behind the last frame, these are repeated. So no frame is left out at the end (the frontend of FunASR, "low frame rate").
 * @param logMel (frames, 80) row by row.
 * @returns (rows, 80 · rowFrames) row by row.
 */
export function stackFrames(
  logMel: Float32Array,
  { rowFrames, shiftFrames, negMean, inverseDeviation }: SenseVoiceLayout,
): Float32Array {
  const frames = logMel.length / MEL_BINS;
  const rowValues = rowFrames * MEL_BINS;
  const before = Math.floor((rowFrames - 1) / 2);
  const stacked = new Float32Array(Math.ceil(frames / shiftFrames) * rowValues);
  for (let i = 0; i < stacked.length / MEL_BINS; i++) {
    const at = shiftFrames * Math.floor(i / rowFrames) - before + (i % rowFrames);
    const frame = Math.max(0, Math.min(at, frames - 1));
    stacked.set(logMel.subarray(frame * MEL_BINS, (frame + 1) * MEL_BINS), i * MEL_BINS);
  }
  return stacked.map(
    (value, i) => (value + (negMean[i % rowValues] ?? 0)) * (inverseDeviation[i % rowValues] ?? 0),
  );
}
