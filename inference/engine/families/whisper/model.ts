import { Tensor } from 'onnxruntime-node';
import { GrowingFrames } from '../../features/growing-frames.ts';
import { WHISPER_FRAMING, WhisperFbank } from '../../features/whisper-fbank.ts';
import type { OnnxOutline } from '../../onnx/onnx-reader.ts';
import type { OnnxModel } from '../../onnx/onnx-session.ts';
import { outputNamed } from '../../onnx/tensors.ts';
import type { EngineModel, EngineRecording } from '../../recording/engine-model.ts';
import { reDecoded } from '../../recording/re-decoded-recording.ts';
import type { Simplify } from '../../text/chinese-text.ts';
import type { TokenTable } from '../../text/tokens.ts';
import { WhisperDecoder } from './decoder.ts';
import { type WhisperLayout, type WhisperVocabulary, whisperVocabulary } from './layout.ts';
import { WhisperRecording } from './recording.ts';

/** A loaded Whisper: encoder and decoder. */
export class WhisperModel implements EngineModel {
  readonly info: EngineModel['info'];
  readonly judges = true;
  readonly #encoder: OnnxModel;
  readonly #decoder: OnnxModel;
  readonly #layout: WhisperLayout;
  readonly #vocabulary: WhisperVocabulary;
  readonly #simplify: Simplify;
  readonly #filterBank: WhisperFbank;

  /** @throws ModelLoadError when metadata and tokens do not fit together. */
  constructor(
    outline: OnnxOutline,
    layout: WhisperLayout,
    encoder: OnnxModel,
    decoder: OnnxModel,
    table: TokenTable,
    simplify: Simplify,
  ) {
    const { vocabularySize } = layout;
    const { provider } = encoder;
    this.info = { features: 'whisper', vocabularySize, stepMs: 500, provider };
    this.#encoder = encoder;
    this.#decoder = decoder;
    this.#layout = layout;
    this.#vocabulary = whisperVocabulary(outline, layout, table);
    this.#simplify = simplify;
    this.#filterBank = new WhisperFbank(layout.melBins);
  }

  open(signal: AbortSignal): EngineRecording {
    const parts = {
      ...this.#vocabulary,
      simplify: this.#simplify,
      encode: (mel: Float32Array, frameCount: number) => this.#encode(mel, frameCount),
    };
    const frames = new GrowingFrames(this.#filterBank, WHISPER_FRAMING);
    return reDecoded(new WhisperRecording(parts, frames, signal));
  }

  async #encode(mel: Float32Array, frameCount: number): Promise<WhisperDecoder> {
    const outputs = await this.#encoder.run({
      mel: new Tensor('float32', mel, [1, this.#layout.melBins, frameCount]),
    });
    const audio = this.#layout.audio.map(
      (name) => [name, outputNamed(this.#encoder, outputs, name)] as const,
    );
    return new WhisperDecoder(this.#decoder, this.#layout, Object.fromEntries(audio));
  }
}
