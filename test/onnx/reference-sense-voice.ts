import { createRequire } from 'node:module';

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

export interface ReferenceOptions {
  readonly language: 'zh' | 'auto';
  /** Digits and punctuation. */
  readonly itn: boolean;
}

/** sherpa-onnx with a SenseVoice. Ends the process when a file does not load. */
export class ReferenceSenseVoice {
  readonly #recognizer: SherpaRecognizer;

  /** @param tokens path of tokens.txt. */
  constructor(model: string, tokens: string, { language, itn }: ReferenceOptions) {
    const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as SherpaOnnx;
    this.#recognizer = new sherpa.OfflineRecognizer({
      featConfig: { sampleRate: 16_000, featureDim: 80 },
      modelConfig: {
        senseVoice: { model, language, useInverseTextNormalization: itn ? 1 : 0 },
        tokens,
        numThreads: 1,
        provider: 'cpu',
        debug: 0,
      },
    });
  }

  /** @param samples of the whole recording, in [-1, 1]. @returns its text, tags and spaces as they are */
  text(samples: Float32Array): string {
    const stream = this.#recognizer.createStream();
    stream.acceptWaveform({ sampleRate: 16_000, samples });
    this.#recognizer.decode(stream);
    return this.#recognizer.getResult(stream).text;
  }
}
