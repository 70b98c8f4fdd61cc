import { createRequire } from 'node:module';
import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import type { ReferenceResult } from './reference-engine.ts';

/** The part of sherpa-onnx-node used here; the package has no type declarations. */
interface SherpaOnnx {
  readonly OfflineRecognizer: new (config: object) => SherpaRecognizer;
}

interface SherpaRecognizer {
  createStream(): SherpaStream;
  decode(stream: SherpaStream): void;
  getResult(stream: SherpaStream): ReferenceResult;
}

interface SherpaStream {
  acceptWaveform(wave: { readonly sampleRate: number; readonly samples: Float32Array }): void;
}

/** sherpa-onnx on whole recordings. Ends the process when a file does not load. */
export class OfflineReference {
  readonly #recognizer: SherpaRecognizer;

  /** @param family its name and its files, as sherpa-onnx wants them. @param tokens path of tokens.txt. */
  constructor(family: object, tokens: string, threads = 1) {
    const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as SherpaOnnx;
    this.#recognizer = new sherpa.OfflineRecognizer({
      featConfig: { sampleRate: SAMPLE_RATE_HZ, featureDim: 80 },
      modelConfig: { ...family, tokens, numThreads: threads, provider: 'cpu', debug: 0 },
      decodingMethod: 'greedy_search',
    });
  }

  /**
   * @param samples of the whole recording, in [-1, 1].
   * @returns text and tokens as they are; of Whisper without those that are no whole characters
   */
  recognize(samples: Float32Array): ReferenceResult {
    const stream = this.#recognizer.createStream();
    stream.acceptWaveform({ sampleRate: SAMPLE_RATE_HZ, samples });
    this.#recognizer.decode(stream);
    return this.#recognizer.getResult(stream);
  }
}

export interface WhisperReferenceFiles {
  readonly encoder: string;
  readonly decoder: string;
  readonly tokens: string;
}

/**
 * A Whisper, greedy and in Chinese.
 * @param tailPaddings frames of zeros behind the recording's; sherpa-onnx's own number without it
 */
export function whisperReference(
  { encoder, decoder, tokens }: WhisperReferenceFiles,
  { tailPaddings, threads = 1 }: { readonly tailPaddings?: number; readonly threads?: number } = {},
): OfflineReference {
  const whisper = { encoder, decoder, language: 'zh', task: 'transcribe' };
  const padded = tailPaddings === undefined ? whisper : { ...whisper, tailPaddings };
  return new OfflineReference({ whisper: padded }, tokens, threads);
}

export interface SenseVoiceReferenceOptions {
  readonly language: 'zh' | 'auto';
  /** Digits and punctuation. */
  readonly itn: boolean;
}

export function senseVoiceReference(
  model: string,
  tokens: string,
  { language, itn }: SenseVoiceReferenceOptions,
): OfflineReference {
  return new OfflineReference(
    { senseVoice: { model, language, useInverseTextNormalization: itn ? 1 : 0 } },
    tokens,
  );
}

export function offlineCtcReference(model: string, tokens: string): OfflineReference {
  return new OfflineReference({ zipformerCtc: { model } }, tokens);
}

export function paraformerReference(model: string, tokens: string, threads = 1): OfflineReference {
  return new OfflineReference({ paraformer: { model } }, tokens, threads);
}
