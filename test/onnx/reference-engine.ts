import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The part of sherpa-onnx-node used here; the package has no type declarations. */
interface SherpaOnnx {
  readonly OnlineRecognizer: new (config: object) => SherpaRecognizer;
}

interface SherpaRecognizer {
  createStream(): SherpaStream;
  isReady(stream: SherpaStream): boolean;
  decode(stream: SherpaStream): void;
  getResult(stream: SherpaStream): { readonly text: string; readonly tokens: readonly string[] };
}

interface SherpaStream {
  acceptWaveform(wave: { readonly sampleRate: number; readonly samples: Float32Array }): void;
  inputFinished(): void;
}

export interface TransducerFiles {
  readonly encoder: string;
  readonly decoder: string;
  readonly joiner: string;
}

export type TransducerFamily = 'zipformer2-transducer' | 'zipformer-transducer';

export type ReferenceModel =
  | { readonly family: 'zipformer2-ctc'; readonly model: string }
  | ({ readonly family: TransducerFamily } & TransducerFiles)
  | { readonly family: 'streaming-paraformer'; readonly encoder: string; readonly decoder: string };

export interface ReferenceResult {
  readonly text: string;
  /** Symbols as in tokens.txt, with a space for a leading `▁`. */
  readonly tokens: readonly string[];
}

/** sherpa-onnx on the same files: the judge of what the engine should say. Ends the process when a file does not load. */
export class ReferenceEngine {
  readonly #recognizer: SherpaRecognizer;

  /** @param folder holds the model's files and tokens.txt. */
  constructor(folder: string, model: ReferenceModel, threads = 1) {
    const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as SherpaOnnx;
    this.#recognizer = new sherpa.OnlineRecognizer({
      featConfig: { sampleRate: 16_000, featureDim: 80 },
      modelConfig: {
        ...modelConfig(folder, model),
        tokens: join(folder, 'tokens.txt'),
        numThreads: threads,
        provider: 'cpu',
        debug: 0,
      },
      decodingMethod: 'greedy_search',
    });
  }

  /** @param samples in [-1, 1], with the silence behind them. */
  recognize(samples: Float32Array): ReferenceResult {
    const stream = this.#recognizer.createStream();
    stream.acceptWaveform({ sampleRate: 16_000, samples });
    stream.inputFinished();
    return this.#heard(stream);
  }

  /** The texts after each of these pieces. */
  partials(pieces: readonly Float32Array[]): string[] {
    const stream = this.#recognizer.createStream();
    return pieces.map((samples) => {
      stream.acceptWaveform({ sampleRate: 16_000, samples });
      return this.#heard(stream).text;
    });
  }

  #heard(stream: SherpaStream): ReferenceResult {
    while (this.#recognizer.isReady(stream)) this.#recognizer.decode(stream);
    const { text, tokens } = this.#recognizer.getResult(stream);
    // With byte-level BPE it leaves the `▁`.
    return { text, tokens: tokens.map((token) => token.replace(/^▁/, ' ')) };
  }
}

function modelConfig(folder: string, model: ReferenceModel): object {
  switch (model.family) {
    case 'zipformer2-ctc':
      return { zipformer2Ctc: { model: join(folder, model.model) } };
    case 'streaming-paraformer':
      return { paraformer: { encoder: join(folder, model.encoder), decoder: join(folder, model.decoder) } };
    case 'zipformer-transducer':
    case 'zipformer2-transducer':
      return {
        transducer: {
          encoder: join(folder, model.encoder),
          decoder: join(folder, model.decoder),
          joiner: join(folder, model.joiner),
        },
      };
    default:
      return model satisfies never;
  }
}
