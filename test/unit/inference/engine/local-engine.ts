import { join } from 'node:path';
import { loadModel } from '../../../../inference/engine/families/load-model.ts';
import type { SessionOptions } from '../../../../inference/engine/onnx/onnx-session.ts';
import type { AcousticModel } from '../../../../inference/engine/recording/acoustic-model.ts';
import { StreamingModel } from '../../../../inference/engine/recording/streaming-model.ts';
import type { StreamingRecording } from '../../../../inference/engine/recording/streaming-recording.ts';
import { readTokenTable, type TokenTable } from '../../../../inference/engine/text/tokens.ts';

/** What the engine's thread does with a streaming model, on this thread: for tests that look at tokens. */
export class LocalEngine {
  readonly release: () => Promise<void>;
  readonly #model: StreamingModel;
  readonly #tokens: TokenTable;

  private constructor(model: StreamingModel, tokens: TokenTable, release: () => Promise<void>) {
    this.release = release;
    this.#model = model;
    this.#tokens = tokens;
  }

  static async load(folder: string, options: Partial<SessionOptions> = {}): Promise<LocalEngine> {
    const loaded = await loadModel(folder, { providers: ['cpu'], threads: 1, log: () => {}, ...options });
    const { model, info, release } = loaded;
    if (!(model instanceof StreamingModel)) throw new Error(`${folder} holds a ${info.family}`);
    return new LocalEngine(model, await readTokenTable(join(folder, 'tokens.txt')), release);
  }

  get model(): AcousticModel {
    return this.#model.acoustic;
  }

  open(): StreamingRecording {
    return this.#model.open(new AbortController().signal);
  }

  /**
   * A whole recording, in pieces of these many bytes (the last may be short).
   * @returns final text and tokens.
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
    return { text, tokens: this.tokens(recording) };
  }

  /** Symbols with a space for a leading `▁`, as sherpa-onnx has them. */
  tokens({ tokenIds }: StreamingRecording): string[] {
    return tokenIds.map((id) => this.#tokens.symbol(id).replace(/^▁/, ' '));
  }
}
