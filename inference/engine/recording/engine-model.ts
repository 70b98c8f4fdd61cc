import type { ModelInfo, RecognizerStream } from '../../recognizer.ts';
import type { Judge } from '../postprocessing/judge.ts';

/** A loaded model of any family, as the engine's thread sees it. */
export interface EngineModel {
  readonly info: Pick<ModelInfo, 'features' | 'vocabularySize' | 'stepMs' | 'provider'>;
  /** Its recordings can say how likely a text is. */
  readonly judges: boolean;

  /**
   * Starts a recording from nothing.
   * @param signal aborts it between two model runs.
   */
  open(signal: AbortSignal): EngineRecording;

  /** Runs what the first recording needs; missing where a recording of silence does. @throws InferenceError */
  warmUp?(): Promise<void>;
}

/** One recording, by the recognizer's contract. After an abort it throws the signal's reason. */
export interface EngineRecording extends Pick<RecognizerStream, 'accept' | 'finish'> {
  /** After `finish()`; missing in families that cannot tell. */
  readonly judge?: Judge | undefined;
}
