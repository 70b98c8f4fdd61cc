import { Tensor } from 'onnxruntime-node';
import { SNIPPED_FRAMING } from '../features/frames.ts';
import { GrowingFrames } from '../features/growing-frames.ts';
import { FUNASR, KaldiFbank } from '../features/kaldi-fbank.ts';
import { stackFrames } from '../features/stacked-frames.ts';
import type { OnnxModel } from '../onnx/onnx-session.ts';
import { int32Tensor, rowsOf } from '../onnx/tensors.ts';
import type { EngineModel, EngineRecording } from '../recording/engine-model.ts';
import { reDecoded, WholeRecording } from '../recording/re-decoded-recording.ts';
import { CtcGreedySearch } from '../search/ctc-search.ts';
import type { TokenTable } from '../text/tokens.ts';
import { TranscriptWriter } from '../text/transcript.ts';
import type { SenseVoiceLayout } from './sense-voice.ts';

/**
 * Output frames in front of the recording's own. They answer four questions (language, emotion, event, text
 * form), mostly with a tag each. sherpa-onnx drops the first four tokens instead: when one of these frames
 * says nothing, the text loses its first token there.
 */
const TAG_FRAMES = 4;

/**
 * A loaded SenseVoice. Unlike in Whisper's family, no rule keeps silence and noise from having a text.
 * What real weights say to them has not been seen.
 */
export class SenseVoiceModel implements EngineModel {
  readonly info: EngineModel['info'];
  readonly judges = false;
  readonly #onnx: OnnxModel;
  readonly #layout: SenseVoiceLayout;
  readonly #transcript: TranscriptWriter;
  readonly #filterBank: KaldiFbank;

  /** @throws ModelLoadError when layout and tokens do not fit together. */
  constructor(onnx: OnnxModel, layout: SenseVoiceLayout, tokens: TokenTable) {
    const { vocabularySize } = layout;
    const { provider } = onnx;
    tokens.checkAgainst(vocabularySize, onnx.fileName);
    this.info = { family: 'sense-voice', features: 'funasr', vocabularySize, stepMs: 500, provider };
    this.#onnx = onnx;
    this.#layout = layout;
    this.#transcript = new TranscriptWriter(tokens, this.info.family);
    this.#filterBank = new KaldiFbank({ ...FUNASR, scale: layout.sampleScale });
  }

  open(signal: AbortSignal): EngineRecording {
    const frames = new GrowingFrames(this.#filterBank, SNIPPED_FRAMING);
    const recognize = (logMel: Float32Array): Promise<string> => {
      signal.throwIfAborted();
      return this.#recognize(logMel);
    };
    return reDecoded(new WholeRecording(frames, recognize));
  }

  async release(): Promise<void> {
    await this.#onnx.release();
  }

  /** @param logMel all frames of the recording, (frames, 80) row by row. */
  async #recognize(logMel: Float32Array): Promise<string> {
    const { stacking, language, textNorm, vocabularySize, blankId } = this.#layout;
    const x = stackFrames(logMel, stacking);
    const rowValues = stacking.negMean.length;
    const rows = x.length / rowValues;
    const outputs = await this.#onnx.run({
      x: new Tensor('float32', x, [1, rows, rowValues]),
      x_length: int32Tensor(rows),
      language: int32Tensor(language),
      text_norm: int32Tensor(textNorm),
    });
    const scores = rowsOf(this.#onnx, outputs, vocabularySize);
    const search = new CtcGreedySearch(blankId);
    search.accept(scores.subarray(TAG_FRAMES * vocabularySize), vocabularySize);
    return this.#transcript.text(search.tokenIds);
  }
}
