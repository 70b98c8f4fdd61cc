import type { OnnxOutline } from '../onnx/onnx-reader.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from '../onnx/onnx-session.ts';
import { type StreamingLayout, StreamingNetwork } from '../partition/streaming-network.ts';

/** Loads the graphs of one model, and frees them together. */
export class GraphLoader {
  readonly #options: SessionOptions;
  readonly #loaded: Pick<OnnxModel, 'release'>[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** @throws ModelLoadError when the runtime refuses the file; ExecutionProviderError. */
  graph({ path }: OnnxOutline): Promise<OnnxModel> {
    return this.#kept(loadOnnxModel(path, this.#options));
  }

  /**
   * One that is called for every frame: the way to another device and back would cost more than it saves.
   * @throws ModelLoadError when the runtime refuses the file.
   */
  smallGraph({ path }: OnnxOutline): Promise<OnnxModel> {
    return this.#kept(loadOnnxModel(path, { ...this.#options, providers: ['cpu'], threads: 1 }));
  }

  /** One that is run step by step. @throws as `graph()` */
  network(outline: OnnxOutline, layout: StreamingLayout): Promise<StreamingNetwork> {
    return this.#kept(StreamingNetwork.load(outline, layout, this.#options));
  }

  async release(): Promise<void> {
    await Promise.all(this.#loaded.splice(0).map((graph) => graph.release()));
  }

  async #kept<T extends Pick<OnnxModel, 'release'>>(loading: Promise<T>): Promise<T> {
    const graph = await loading;
    this.#loaded.push(graph);
    return graph;
  }
}
