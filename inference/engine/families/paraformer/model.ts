import { InferenceError } from '../../../recognizer.ts';
import { FUNASR, KaldiFbank } from '../../features/kaldi-fbank.ts';
import { stackFrames } from '../../features/stacked-frames.ts';
import type { OnnxModel } from '../../onnx/onnx-session.ts';
import { int32Tensor, rowsOf, rowTensor } from '../../onnx/tensors.ts';
import type { WholeNetwork } from '../../recording/re-decoding-model.ts';
import { argmax } from '../../search/ctc-search.ts';
import type { TokenTable } from '../../text/tokens.ts';
import type { ParaformerLayout } from './layout.ts';
import { ParaformerTranscript } from './transcript.ts';

/** What the runtime says of a convolution over the tokens when there is none. */
const NO_TOKEN = /Invalid input shape/;

/** A loaded offline Paraformer. */
export class ParaformerModel implements WholeNetwork {
  readonly features = 'funasr';
  readonly filterBank = new KaldiFbank(FUNASR);
  readonly vocabularySize: number;
  readonly onnx: OnnxModel;
  readonly #layout: ParaformerLayout;
  readonly #transcript: ParaformerTranscript;
  readonly #endId: number | undefined;

  /** @throws ModelLoadError when layout and tokens do not fit together. */
  constructor(onnx: OnnxModel, layout: ParaformerLayout, tokens: TokenTable) {
    tokens.checkAgainst(layout.vocabularySize, onnx.fileName);
    this.vocabularySize = layout.vocabularySize;
    this.onnx = onnx;
    this.#layout = layout;
    this.#transcript = new ParaformerTranscript(tokens);
    this.#endId = tokens.idOf('</s>');
  }

  async recognize(logMel: Float32Array): Promise<string> {
    const { stacking, vocabularySize } = this.#layout;
    const speech = rowTensor(stackFrames(logMel, stacking), stacking.negMean.length);
    const outputs = await this.onnx
      .run({ speech, speech_lengths: int32Tensor(speech.dims[1] ?? 0) })
      .catch((cause: unknown) => {
        // Silence and noise may have no token; the graph's convolutions do not take that. It is no fault of the recording.
        if (cause instanceof InferenceError && NO_TOKEN.test(cause.message)) return undefined;
        throw cause;
      });
    if (outputs === undefined) return '';
    const scores = rowsOf(this.onnx, outputs, vocabularySize);
    const ids: number[] = [];
    for (let start = 0; start < scores.length; start += vocabularySize) {
      const id = argmax(scores, start, vocabularySize);
      if (id === this.#endId) break;
      ids.push(id);
    }
    return this.#transcript.text(ids);
  }
}
