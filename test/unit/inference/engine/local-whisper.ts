import { Tensor } from 'onnxruntime-node';
import { WhisperDecoder } from '../../../../inference/engine/families/whisper/decoder.ts';
import { type WhisperLayout, whisperLayout } from '../../../../inference/engine/families/whisper/layout.ts';
import { KALDI_FRAMING, transpose } from '../../../../inference/engine/features/frames.ts';
import { GrowingFrames } from '../../../../inference/engine/features/growing-frames.ts';
import { normalizeWhisperWindow, WhisperFbank } from '../../../../inference/engine/features/whisper-fbank.ts';
import { type OnnxOutline, readOnnxOutline } from '../../../../inference/engine/onnx/onnx-reader.ts';
import { loadOnnxModel, type OnnxModel } from '../../../../inference/engine/onnx/onnx-session.ts';
import { outputNamed } from '../../../../inference/engine/onnx/tensors.ts';
import { greedySearch } from '../../../../inference/engine/search/autoregressive-greedy.ts';
import type { SearchRules } from '../../../../inference/engine/search/token-decoder.ts';
import type { WhisperFiles } from '../../../onnx/whisper.ts';

/** A kaldi-native-fbank frame ends this far behind the last sample at most, where the samples are mirrored. */
const MIRRORED_SAMPLES = 400;

/**
 * The engine's parts of a Whisper, put together as sherpa-onnx does it (`offline-recognizer-whisper-impl.h`
 * and the greedy decoder there).
 */
export class LocalWhisper {
  readonly layout: WhisperLayout;
  readonly #metadata: OnnxOutline['metadata'];
  readonly #encoder: OnnxModel;
  readonly #decoder: OnnxModel;

  private constructor(outline: OnnxOutline, layout: WhisperLayout, encoder: OnnxModel, decoder: OnnxModel) {
    this.layout = layout;
    this.#metadata = outline.metadata;
    this.#encoder = encoder;
    this.#decoder = decoder;
  }

  static async load({ encoder, decoder }: WhisperFiles): Promise<LocalWhisper> {
    const options = { providers: ['cpu'], threads: 1, log: () => {} } as const;
    const outline = await readOnnxOutline(encoder);
    const layout = whisperLayout(outline, await readOnnxOutline(decoder));
    const models = [await loadOnnxModel(encoder, options), await loadOnnxModel(decoder, options)] as const;
    return new LocalWhisper(outline, layout, ...models);
  }

  /**
   * @param samples in [-1, 1].
   * @param tailPaddings frames of zeros behind the recording's, which are normalised without them.
   * @returns the ids of the text's tokens, at most 6 a second, none of them suppressed.
   */
  async tokens(samples: Float32Array, tailPaddings: number): Promise<readonly number[]> {
    const { textContext } = this.layout;
    const decoder = await this.encode(samples, tailPaddings);
    const limit = Math.min(Math.floor((6 * frameCount(samples)) / 100), textContext / 2);
    const { signal } = new AbortController();
    return (await greedySearch(decoder, this.rules(), [], limit, signal)).tokens;
  }

  /** Without a prompt, and with every token allowed. */
  rules(): SearchRules {
    const id = (key: string): number => this.#metadata.integer(key, 0, this.layout.vocabularySize);
    const codes = this.#metadata.text('all_language_codes')?.split(',') ?? [];
    const languages = this.#metadata.integers('all_language_tokens', 0, this.layout.vocabularySize);
    return {
      prompt: [id('sot'), languages[codes.indexOf('zh')] ?? 0, id('transcribe'), id('no_timestamps')],
      endId: id('eot'),
      suppressed: new Uint8Array(this.layout.vocabularySize),
      suppressedFirst: new Uint8Array(this.layout.vocabularySize),
      doubtfulFirst: Number.NEGATIVE_INFINITY,
    };
  }

  async encode(samples: Float32Array, tailPaddings: number): Promise<WhisperDecoder> {
    const { melBins } = this.layout;
    const frames = new GrowingFrames(new WhisperFbank(melBins), KALDI_FRAMING);
    frames.accept(samples);
    frames.accept(samples.slice(-MIRRORED_SAMPLES).reverse());
    const count = frameCount(samples);
    const padded = new Float32Array((count + tailPaddings) * melBins);
    normalizeWhisperWindow(frames.complete().subarray(0, count * melBins), padded);
    const mel = new Float32Array(padded.length);
    transpose(padded, count + tailPaddings, melBins, mel);
    const outputs = await this.#encoder.run({
      mel: new Tensor('float32', mel, [1, melBins, count + tailPaddings]),
    });
    const audio = this.layout.audio.map((name) => [name, outputNamed(this.#encoder, outputs, name)] as const);
    return new WhisperDecoder(this.#decoder, this.layout, Object.fromEntries(audio));
  }

  async release(): Promise<void> {
    await Promise.all([this.#encoder.release(), this.#decoder.release()]);
  }
}

/** Of 10 ms, the last one rounded. */
function frameCount(samples: Float32Array): number {
  return Math.floor((samples.length + 80) / 160);
}
