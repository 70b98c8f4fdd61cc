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
