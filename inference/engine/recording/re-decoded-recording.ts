import type { GrowingFrames } from '../features/growing-frames.ts';
import type { Judge } from '../postprocessing/judge.ts';
import type { EngineRecording } from './engine-model.ts';
import { sampleBlocks } from './samples.ts';

/** One recording in a family that looks at its audio again in each update. */
export interface ReDecoder {
  /** Only takes samples in. @param samples 16 kHz mono, in [-1, 1]; not kept. */
  accept(samples: Float32Array): void;

  /**
   * @returns the text of the audio so far, which later ones may revise.
   * @throws InferenceError; the reason of an abort
   */
  update(): Promise<string>;

  /** @returns the text of the whole recording; depends on its samples alone. @throws as `update()` */
  finish(): Promise<string>;

  /** After `finish()`. */
  judge?: Judge;
}

/** One recording in a model whose update is a run on all of it. */
export class WholeRecording implements ReDecoder {
  readonly #frames: GrowingFrames;
  readonly #recognize: (logMel: Float32Array) => Promise<string>;
  /** Values of the frames that `#text` is of. */
  #recognizedValues = 0;
  #text = '';

  /** @param recognize is given all frames, (frames, bins) row by row */
  constructor(frames: GrowingFrames, recognize: (logMel: Float32Array) => Promise<string>) {
    this.#frames = frames;
    this.#recognize = recognize;
  }

  accept(samples: Float32Array): void {
    this.#frames.accept(samples);
  }

  /** Runs the model where there is a frame more than before. */
  async update(): Promise<string> {
    const logMel = this.#frames.complete();
    if (logMel.length !== this.#recognizedValues) {
      this.#text = await this.#recognize(logMel);
      this.#recognizedValues = logMel.length;
    }
    return this.#text;
  }

  finish(): Promise<string> {
    return this.update();
  }
}

/** Brings PCM to a re-decoder. */
export function reDecoded(decoder: ReDecoder): EngineRecording {
  let isEmpty = true;
  const take = (pcm: Uint8Array): void => {
    for (const samples of sampleBlocks(pcm)) {
      decoder.accept(samples);
      isEmpty = false;
    }
  };
  return {
    accept: async (pcm) => {
      take(pcm);
      return isEmpty ? '' : await decoder.update();
    },
    finish: async (pcm) => {
      take(pcm);
      return isEmpty ? '' : await decoder.finish();
    },
    judge: decoder.judge?.bind(decoder),
  };
}
