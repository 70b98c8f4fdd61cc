import { loadModel } from '../../../../inference/engine/families/load-model.ts';
import type { SessionOptions } from '../../../../inference/engine/onnx/onnx-session.ts';
import { StreamingModel } from '../../../../inference/engine/recording/streaming-model.ts';
import type { StreamingRecording } from '../../../../inference/engine/recording/streaming-recording.ts';

/** What the engine's thread does with a streaming model, on this thread: for tests that look at tokens. */
export class LocalEngine {
  readonly #model: StreamingModel;

  private constructor(model: StreamingModel) {
    this.#model = model;
  }

  static async load(folder: string, options: Partial<SessionOptions> = {}): Promise<LocalEngine> {
    const model = await loadModel(folder, { providers: ['cpu'], threads: 1, log: () => {}, ...options });
    if (!(model instanceof StreamingModel)) throw new Error(`${folder} holds a ${model.info.family}`);
    return new LocalEngine(model);
  }

  get model(): StreamingModel['acoustic'] {
    return this.#model.acoustic;
  }

  open(): StreamingRecording {
    return this.#model.open(new AbortController().signal);
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
