import type { ModelInfo } from '../../recognizer.ts';
import type { Judge } from '../postprocessing/hotword-correction.ts';

/** A loaded model of any family, as the engine's thread sees it. */
export interface EngineModel {
  readonly info: Omit<ModelInfo, 'id' | 'threads' | 'loadMs'>;
  /** Its recordings can say how likely a text is. */
  readonly judges: boolean;

  /**
   * Starts a recording from nothing.
   * @param signal aborts it between two model runs.
   */
  open(signal: AbortSignal): EngineRecording;

  release(): Promise<void>;
}

/** One recording on its way through the model. */
export interface EngineRecording {
  /**
   * Takes the next samples and runs an update.
   * @param pcm 16-bit little-endian samples; an even number of bytes.
   * @returns the text so far.
   * @throws InferenceError when a model run fails, after which the recording is of no use; the signal's reason.
   */
  accept(pcm: Uint8Array): Promise<string>;

  /**
   * Takes the last samples and runs what is left.
   * @param pcm as in `accept()`; may be empty.
   * @returns the final text, which depends on the samples alone.
   */
  finish(pcm: Uint8Array): Promise<string>;

  /** After `finish()`; missing in families that cannot tell. */
  readonly judge?: Judge | undefined;
}
