import type { AcousticModel, StepDecoder } from './acoustic-model.ts';
import type { ModelMetadata } from './model-metadata.ts';
import type { OnnxModel } from './onnx-session.ts';
import type { TokenTable } from './tokens.ts';
import { TransducerGreedySearch, TransducerHead } from './transducer-search.ts';
import { Zipformer2Network } from './zipformer2-network.ts';

export interface TransducerParts {
  readonly encoder: OnnxModel;
  readonly decoder: OnnxModel;
  readonly joiner: OnnxModel;
}

/** icefall's streaming Zipformer2 encoder with a stateless transducer. */
export class Zipformer2TransducerModel implements AcousticModel {
  readonly family = 'zipformer2-transducer';
  readonly features: 'kaldi' | 'whisper';
  readonly tokens: TokenTable;
  readonly windowFrames: number;
  readonly shiftFrames: number;
  readonly vocabularySize: number;
  readonly provider: string;
  readonly #parts: TransducerParts;
  readonly #encoder: Zipformer2Network;
  readonly #head: TransducerHead;

  /** @throws ModelLoadError when metadata, graphs and tokens do not agree. */
  constructor(
    parts: TransducerParts,
    encoderMetadata: ModelMetadata,
    decoderMetadata: ModelMetadata,
    tokens: TokenTable,
  ) {
    this.#parts = parts;
    this.#encoder = new Zipformer2Network(parts.encoder, encoderMetadata);
    this.#head = new TransducerHead(parts, decoderMetadata, tokens);
    this.provider = parts.encoder.provider;
    this.features = this.#encoder.features;
    this.windowFrames = this.#encoder.windowFrames;
    this.shiftFrames = this.#encoder.shiftFrames;
    this.tokens = tokens;
    this.vocabularySize = this.#head.vocabularySize;
  }

  open(): StepDecoder {
    const encode = this.#encoder.open();
    const search = new TransducerGreedySearch(this.#head);
    return {
      tokenIds: search.tokenIds,
      step: async (frames) => search.accept(await encode(frames)),
    };
  }

  async release(): Promise<void> {
    await Promise.all(
      [this.#parts.encoder, this.#parts.decoder, this.#parts.joiner].map((part) => part.release()),
    );
  }
}
