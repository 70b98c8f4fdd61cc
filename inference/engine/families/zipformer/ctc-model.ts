import type { OnnxModel } from '../../onnx/onnx-session.ts';
import type { StreamingNetwork } from '../../partition/streaming-network.ts';
import type { AcousticModel, StepDecoder } from '../../recording/acoustic-model.ts';
import { CtcGreedySearch } from '../../search/ctc-search.ts';
import type { TokenTable } from '../../text/tokens.ts';
import { TranscriptWriter } from '../../text/transcript.ts';

/** A network whose output frames are scores of tokens. */
export class CtcModel implements AcousticModel {
  readonly transcript: TranscriptWriter;
  readonly vocabularySize: number;
  readonly layout: StreamingNetwork['layout'];
  readonly onnx: OnnxModel;
  readonly #network: StreamingNetwork;
  readonly #blankId: number;

  /** @throws ModelLoadError when network and tokens do not agree. */
  constructor(network: StreamingNetwork, tokens: TokenTable) {
    this.transcript = new TranscriptWriter(tokens);
    this.#network = network;
    this.layout = network.layout;
    this.onnx = network.onnx;
    this.vocabularySize = this.onnx.scoredTokens();
    tokens.checkAgainst(this.vocabularySize, this.onnx.fileName);
    this.#blankId = tokens.ctcBlankId;
  }

  open(): StepDecoder {
    const run = this.#network.open(this.vocabularySize);
    const search = new CtcGreedySearch(this.#blankId);
    return {
      tokenIds: search.tokenIds,
      run: async (steps, signal) => {
        for (const scores of await run(steps, signal)) search.accept(scores, this.vocabularySize);
      },
    };
  }
}
