import { FUNASR, KaldiFbank } from '../../features/kaldi-fbank.ts';
import { stackFrames } from '../../features/stacked-frames.ts';
import type { OnnxModel } from '../../onnx/onnx-session.ts';
import { int32Tensor, rowsOf, rowTensor } from '../../onnx/tensors.ts';
import type { WholeNetwork } from '../../recording/re-decoding-model.ts';
import { CtcGreedySearch } from '../../search/ctc-search.ts';
import type { TokenTable } from '../../text/tokens.ts';
import { TranscriptWriter } from '../../text/transcript.ts';
import type { SenseVoiceLayout } from './layout.ts';

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
export class SenseVoiceModel implements WholeNetwork {
  readonly features = 'funasr';
  readonly filterBank: KaldiFbank;
  readonly vocabularySize: number;
  readonly onnx: OnnxModel;
  readonly #layout: SenseVoiceLayout;
  readonly #transcript: TranscriptWriter;

  /** @throws ModelLoadError when layout and tokens do not fit together. */
  constructor(onnx: OnnxModel, layout: SenseVoiceLayout, tokens: TokenTable) {
    tokens.checkAgainst(layout.vocabularySize, onnx.fileName);
    this.filterBank = new KaldiFbank({ ...FUNASR, scale: layout.sampleScale });
    this.vocabularySize = layout.vocabularySize;
    this.onnx = onnx;
    this.#layout = layout;
    this.#transcript = new TranscriptWriter(tokens);
  }

  async recognize(logMel: Float32Array): Promise<string> {
    const { stacking, language, textNorm, vocabularySize, blankId } = this.#layout;
    const x = rowTensor(stackFrames(logMel, stacking), stacking.negMean.length);
    const outputs = await this.onnx.run({
      x,
      x_length: int32Tensor(x.dims[1] ?? 0),
      language: int32Tensor(language),
      text_norm: int32Tensor(textNorm),
    });
    const scores = rowsOf(this.onnx, outputs, vocabularySize);
    const search = new CtcGreedySearch(blankId);
    search.accept(scores.subarray(TAG_FRAMES * vocabularySize), vocabularySize);
    return this.#transcript.text(search.tokenIds);
  }
}
