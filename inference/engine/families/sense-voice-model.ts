import { Tensor } from 'onnxruntime-node';
import { SNIPPED_FRAMING } from '../features/frames.ts';
import { GrowingFrames } from '../features/growing-frames.ts';
import { KaldiFbank } from '../features/kaldi-fbank.ts';
import type { OnnxModel } from '../onnx/onnx-session.ts';
import { rowsOf } from '../onnx/tensors.ts';
import type { EngineModel, EngineRecording } from '../recording/engine-model.ts';
import { type ReDecoder, reDecoded } from '../recording/re-decoded-recording.ts';
import { CtcGreedySearch } from '../search/ctc-search.ts';
import type { TokenTable } from '../text/tokens.ts';
import { TranscriptWriter } from '../text/transcript.ts';
import { type SenseVoiceLayout, stackFrames } from './sense-voice.ts';

/**
 * Output frames in front of the recording's own. They answer four questions (language, emotion, event, text form), mostly with a tag each.
 * sherpa-onnx drops the first four tokens instead: when one of these frames says nothing, the text loses its first token there.
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
    this.info = { family: 'sense-voice', features: 'kaldi', vocabularySize, stepMs: 500, provider };
    this.#onnx = onnx;
    this.#layout = layout;
    this.#transcript = new TranscriptWriter(tokens, this.info.family);
    this.#filterBank = new KaldiFbank({ window: 'hamming', highHz: 8000, scale: layout.sampleScale });
  }

  open(signal: AbortSignal): EngineRecording {
    const frames = new GrowingFrames(this.#filterBank, SNIPPED_FRAMING);
    const recognize = (logMel: Float32Array): Promise<string> => {
      signal.throwIfAborted();
      return this.#recognize(logMel);
    };
    return reDecoded(new SenseVoiceRecording(frames, recognize));
  }

  async release(): Promise<void> {
    await this.#onnx.release();
  }

  /** @param logMel all frames of the recording, (frames, 80) row by row. */
  async #recognize(logMel: Float32Array): Promise<string> {
    const { negMean, language, textNorm, vocabularySize, blankId } = this.#layout;
    const x = stackFrames(logMel, this.#layout);
    const rowValues = negMean.length;
    const rows = x.length / rowValues;
    const outputs = await this.#onnx.run({
      x: new Tensor('float32', x, [1, rows, rowValues]),
      x_length: int32(rows),
      language: int32(language),
      text_norm: int32(textNorm),
    });
    const scores = rowsOf(this.#onnx, outputs, vocabularySize);
    const search = new CtcGreedySearch(blankId);
    search.accept(scores.subarray(TAG_FRAMES * vocabularySize), vocabularySize);
    return this.#transcript.text(search.tokenIds);
  }
}

/** One recording in a SenseVoice: each update is a run on all of it. */
class SenseVoiceRecording implements ReDecoder {
  readonly #frames: GrowingFrames;
  readonly #recognize: (logMel: Float32Array) => Promise<string>;
  /** Values of the frames that `#text` is of. */
  #heardValues = 0;
  #text = '';

  constructor(frames: GrowingFrames, recognize: (logMel: Float32Array) => Promise<string>) {
    this.#frames = frames;
    this.#recognize = recognize;
  }

  accept(samples: Float32Array): void {
    this.#frames.accept(samples);
  }

  /** Runs the model where there is a frame more than before. */
  async update(): Promise<string> {
    const logMel = this.#frames.complete();
    if (logMel.length !== this.#heardValues) {
      this.#text = await this.#recognize(logMel);
      this.#heardValues = logMel.length;
    }
    return this.#text;
  }

  finish(): Promise<string> {
    return this.update();
  }
}

function int32(value: number): Tensor {
  return new Tensor('int32', Int32Array.of(value), [1]);
}
