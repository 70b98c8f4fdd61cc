import { Tensor } from 'onnxruntime-node';
import { MEL_BINS } from '../../features/frames.ts';
import { KaldiFbank } from '../../features/kaldi-fbank.ts';
import type { OnnxModel } from '../../onnx/onnx-session.ts';
import { outputAt, rowsOf, rowTensor } from '../../onnx/tensors.ts';
import type { WholeNetwork } from '../../recording/re-decoding-model.ts';
import { CtcGreedySearch } from '../../search/ctc-search.ts';
import type { TokenTable } from '../../text/tokens.ts';
import { TranscriptWriter } from '../../text/transcript.ts';

/** The convolutions in front of the encoder make (frames − 7) / 2 of them, and fail on none (icefall's `subsampling.py`). */
const MIN_FRAMES = 9;

/** A loaded offline Zipformer2 with a CTC head. As in sherpa-onnx (`offline-recognizer-ctc-impl.h`). */
export class OfflineZipformerCtc implements WholeNetwork {
  readonly features = 'kaldi';
  readonly filterBank = new KaldiFbank();
  readonly vocabularySize: number;
  readonly onnx: OnnxModel;
  readonly #blankId: number;
  readonly #transcript: TranscriptWriter;

  /** @throws ModelLoadError when graph and tokens do not fit together. */
  constructor(onnx: OnnxModel, tokens: TokenTable) {
    this.vocabularySize = onnx.scoredTokens();
    tokens.checkAgainst(this.vocabularySize, onnx.fileName);
    this.onnx = onnx;
    this.#blankId = tokens.ctcBlankId;
    this.#transcript = new TranscriptWriter(tokens);
  }

  async recognize(logMel: Float32Array): Promise<string> {
    const frames = logMel.length / MEL_BINS;
    if (frames < MIN_FRAMES) return '';
    const outputs = await this.onnx.run({
      x: rowTensor(logMel, MEL_BINS),
      x_lens: new Tensor('int64', BigInt64Array.of(BigInt(frames)), [1]),
    });
    const [rows] = outputAt(this.onnx, outputs, 1, 'int64').data as BigInt64Array;
    const scores = rowsOf(this.onnx, outputs, this.vocabularySize);
    const search = new CtcGreedySearch(this.#blankId);
    search.accept(scores.subarray(0, Number(rows) * this.vocabularySize), this.vocabularySize);
    return this.#transcript.text(search.tokenIds);
  }
}
