import { createRequire } from 'node:module';
import type { ReferenceResult } from './reference-engine.ts';
import type { WhisperFiles } from './whisper.ts';

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

/** sherpa-onnx on a Whisper's files. Ends the process when one does not load. */
export class ReferenceWhisper {
  readonly #recognizer: SherpaRecognizer;

  /** @param tailPaddings frames of zeros behind the recording's. */
  constructor({ encoder, decoder, tokens }: WhisperFiles, tailPaddings: number) {
    const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as SherpaOnnx;
    this.#recognizer = new sherpa.OfflineRecognizer({
      featConfig: { sampleRate: 16_000, featureDim: 80 },
      modelConfig: {
        whisper: { encoder, decoder, language: 'zh', task: 'transcribe', tailPaddings },
        tokens,
        numThreads: 1,
        provider: 'cpu',
        debug: 0,
      },
      decodingMethod: 'greedy_search',
    });
  }

  /** @param samples in [-1, 1]. */
  recognize(samples: Float32Array): ReferenceResult {
    const stream = this.#recognizer.createStream();
    stream.acceptWaveform({ sampleRate: 16_000, samples });
    this.#recognizer.decode(stream);
    return this.#recognizer.getResult(stream);
  }
}
