import { createRequire } from 'node:module';
import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import type { ModelFiles } from '../../inference/engine/onnx/model-files.ts';

/** The part of sherpa-onnx-node used here; the package has no type declarations. */
interface SherpaOnnx {
  readonly OfflineRecognizer: new (config: object) => SherpaRecognizer;
}

interface SherpaRecognizer {
  createStream(): SherpaStream;
  decode(stream: SherpaStream): void;
  getResult(stream: SherpaStream): { readonly text: string };
}

interface SherpaStream {
  acceptWaveform(wave: { readonly sampleRate: number; readonly samples: Float32Array }): void;
}

/** sherpa-onnx with a Whisper, greedy and in Chinese. Ends the process when a file does not load. */
export class OfflineReference {
  readonly #recognizer: SherpaRecognizer;

  constructor({ encoder, decoder, tokens }: Extract<ModelFiles, { kind: 'whisper' }>, threads: number) {
    const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as SherpaOnnx;
    this.#recognizer = new sherpa.OfflineRecognizer({
      featConfig: { sampleRate: SAMPLE_RATE_HZ, featureDim: 80 },
      modelConfig: {
        whisper: { encoder, decoder, language: 'zh', task: 'transcribe' },
        tokens,
        numThreads: threads,
        provider: 'cpu',
        debug: 0,
      },
      decodingMethod: 'greedy_search',
    });
  }

  /**
   * @param samples in [-1, 1]; it puts silence of its own behind them.
   * @returns the text without the tokens that are not whole characters, which it drops.
   */
  recognize(samples: Float32Array): string {
    const stream = this.#recognizer.createStream();
    stream.acceptWaveform({ sampleRate: SAMPLE_RATE_HZ, samples });
    this.#recognizer.decode(stream);
    return this.#recognizer.getResult(stream).text;
  }
}
