import type { AcousticModel } from '../../../inference/engine/acoustic-model.ts';
import { createFilterBank, FeatureExtractor } from '../../../inference/engine/features/feature-extractor.ts';
import { loadAcousticModel } from '../../../inference/engine/load-model.ts';
import type { SessionOptions } from '../../../inference/engine/network/onnx-session.ts';
import { Recording } from '../../../inference/engine/recording.ts';
import { TranscriptWriter } from '../../../inference/engine/text/transcript.ts';

/** What the engine's thread does, on this thread: for tests that look at tokens. */
export class LocalEngine {
  readonly model: AcousticModel;
  readonly #filterBank;
  readonly #transcript: TranscriptWriter;

  private constructor(model: AcousticModel) {
    this.model = model;
    this.#filterBank = createFilterBank(model.layout.features);
    this.#transcript = new TranscriptWriter(model.tokens, model.family);
  }

  static async load(folder: string, options: Partial<SessionOptions> = {}): Promise<LocalEngine> {
    return new LocalEngine(
      await loadAcousticModel(folder, { providers: ['cpu'], threads: 1, log: () => {}, ...options }),
    );
  }

  open(): Recording {
    const { signal } = new AbortController();
    return new Recording(this.model, new FeatureExtractor(this.#filterBank), this.#transcript, signal);
  }

  /**
   * A whole recording, in pieces of these many bytes (the last may be short).
   * @returns final text and tokens, symbols with a space for a leading `▁` as sherpa-onnx has them.
   */
  async recognize(
    pcm: Uint8Array,
    pieceBytes = pcm.length || 1,
  ): Promise<{ text: string; tokens: string[] }> {
    const recording = this.open();
    let start = 0;
    for (; start + pieceBytes < pcm.length; start += pieceBytes)
      await recording.accept(pcm.subarray(start, start + pieceBytes));
    const text = await recording.finish(pcm.subarray(start));
    const tokens = recording.tokenIds.map((id) => this.model.tokens.symbol(id).replace(/^▁/, ' '));
    return { text, tokens };
  }
}
