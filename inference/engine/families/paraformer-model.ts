import { Tensor } from 'onnxruntime-node';
import { InferenceError } from '../../recognizer.ts';
import { SNIPPED_FRAMING } from '../features/frames.ts';
import { GrowingFrames } from '../features/growing-frames.ts';
import { FUNASR, KaldiFbank } from '../features/kaldi-fbank.ts';
import { stackFrames } from '../features/stacked-frames.ts';
import type { OnnxModel } from '../onnx/onnx-session.ts';
import { int32Tensor, rowsOf } from '../onnx/tensors.ts';
import type { EngineModel, EngineRecording } from '../recording/engine-model.ts';
import { reDecoded, WholeRecording } from '../recording/re-decoded-recording.ts';
import { argmax } from '../search/ctc-search.ts';
import { ParaformerTranscript } from '../text/paraformer-transcript.ts';
import type { TokenTable } from '../text/tokens.ts';
import type { ParaformerLayout } from './paraformer.ts';

/** What the runtime says of a convolution over the tokens when there is none. */
const NO_TOKEN = /Invalid input shape/;

/** A loaded offline Paraformer: each update is one run on the whole recording. */
export class ParaformerModel implements EngineModel {
  readonly info: EngineModel['info'];
  readonly judges = false;
  readonly #onnx: OnnxModel;
  readonly #layout: ParaformerLayout;
  readonly #transcript: ParaformerTranscript;
  readonly #endId: number | undefined;
  readonly #filterBank = new KaldiFbank(FUNASR);

  /** @throws ModelLoadError when layout and tokens do not fit together. */
  constructor(onnx: OnnxModel, layout: ParaformerLayout, tokens: TokenTable) {
    const { vocabularySize } = layout;
    const { provider } = onnx;
    tokens.checkAgainst(vocabularySize, onnx.fileName);
    this.info = { family: 'paraformer', features: 'funasr', vocabularySize, stepMs: 500, provider };
    this.#onnx = onnx;
    this.#layout = layout;
    this.#transcript = new ParaformerTranscript(tokens);
    this.#endId = tokens.idOf('</s>');
  }

  open(signal: AbortSignal): EngineRecording {
    const frames = new GrowingFrames(this.#filterBank, SNIPPED_FRAMING);
    return reDecoded(
      new WholeRecording(frames, (logMel) => {
        signal.throwIfAborted();
        return this.#recognize(logMel);
      }),
    );
  }

  async release(): Promise<void> {
    await this.#onnx.release();
  }

  /** @param logMel all frames of the recording, (frames, 80) row by row. */
  async #recognize(logMel: Float32Array): Promise<string> {
    const { stacking, vocabularySize } = this.#layout;
    const x = stackFrames(logMel, stacking);
    const rowValues = stacking.negMean.length;
    const rows = x.length / rowValues;
    const speech = new Tensor('float32', x, [1, rows, rowValues]);
    const outputs = await this.#onnx
      .run({ speech, speech_lengths: int32Tensor(rows) })
      .catch((cause: unknown) => {
        // Silence and noise may have no token; the graph's convolutions do not take that. It is no fault of the recording.
        if (cause instanceof InferenceError && NO_TOKEN.test(cause.message)) return undefined;
        throw cause;
      });
    if (outputs === undefined) return '';
    const scores = rowsOf(this.#onnx, outputs, vocabularySize);
    const ids: number[] = [];
    for (let start = 0; start < scores.length; start += vocabularySize) {
      const id = argmax(scores, start, vocabularySize);
      if (id === this.#endId) break;
      ids.push(id);
    }
    return this.#transcript.text(ids);
  }
}
