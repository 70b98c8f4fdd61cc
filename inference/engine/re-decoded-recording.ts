import type { EngineRecording } from './engine-model.ts';
import { sampleBlocks } from './samples.ts';

/** One recording in a family that looks at all of its audio in each update. */
export interface ReDecoder {
  /** Only takes samples in. @param samples 16 kHz mono, in [-1, 1]; not kept. */
  accept(samples: Float32Array): void;

  /** @returns the text of the audio so far, which later ones may revise. @throws InferenceError; the reason of an abort */
  update(): Promise<string>;

  /** @returns the text of the whole recording; depends on its samples alone. @throws as `update()` */
  finish(): Promise<string>;
}

/** Brings PCM to a re-decoder, and remembers how it failed. */
export class ReDecodedRecording implements EngineRecording {
  readonly #decoder: ReDecoder;
  #failure: { readonly cause: unknown } | undefined;
  #isEmpty = true;

  constructor(decoder: ReDecoder) {
    this.#decoder = decoder;
  }

  accept(pcm: Uint8Array): Promise<string> {
    return this.#hear(pcm, () => this.#decoder.update());
  }

  finish(pcm: Uint8Array): Promise<string> {
    return this.#hear(pcm, () => this.#decoder.finish());
  }

  async #hear(pcm: Uint8Array, recognize: () => Promise<string>): Promise<string> {
    if (this.#failure !== undefined) throw this.#failure.cause;
    for (const samples of sampleBlocks(pcm)) {
      this.#decoder.accept(samples);
      this.#isEmpty = false;
    }
    if (this.#isEmpty) return '';
    try {
      return await recognize();
    } catch (cause) {
      this.#failure = { cause };
      throw cause;
    }
  }
}
