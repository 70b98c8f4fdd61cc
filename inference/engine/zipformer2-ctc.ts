import type { AcousticModel, StepDecoder } from './acoustic-model.ts';
import { CtcGreedySearch } from './ctc-search.ts';
import type { ModelMetadata } from './model-metadata.ts';
import type { OnnxModel } from './onnx-session.ts';
import type { TokenTable } from './tokens.ts';
import { Zipformer2Network } from './zipformer2-network.ts';

/** icefall's streaming Zipformer2 with a CTC output. */
export class Zipformer2CtcModel implements AcousticModel {
  readonly family = 'zipformer2-ctc';
  readonly features: 'kaldi' | 'whisper';
  readonly tokens: TokenTable;
  readonly windowFrames: number;
  readonly shiftFrames: number;
  readonly vocabularySize: number;
  readonly provider: string;
  readonly #onnx: OnnxModel;
  readonly #network: Zipformer2Network;
  readonly #blankId: number;

  /** @throws ModelLoadError when metadata, graph and tokens do not agree. */
  constructor(onnx: OnnxModel, metadata: ModelMetadata, tokens: TokenTable) {
    this.#onnx = onnx;
    this.#network = new Zipformer2Network(onnx, metadata);
    this.provider = onnx.provider;
    this.features = this.#network.features;
    this.windowFrames = this.#network.windowFrames;
    this.shiftFrames = this.#network.shiftFrames;
    this.tokens = tokens;
    this.vocabularySize = onnx.lastOutputDimension(0);
    tokens.checkAgainst(this.vocabularySize, onnx.fileName);
    this.#blankId = tokens.ctcBlankId;
  }

  open(): StepDecoder {
    const network = this.#network.open();
    const search = new CtcGreedySearch(this.#blankId);
    return {
      tokenIds: search.tokenIds,
      step: async (frames) => search.accept(await network(frames), this.vocabularySize),
    };
  }

  async release(): Promise<void> {
    await this.#onnx.release();
  }
}
