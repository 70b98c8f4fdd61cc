import { PrintableError } from '../common/errors/printable.ts';
import type { LocatedModel } from '../models/store/locate.ts';

/**
 * What both workers (uploads and streams) see of the model. The real one is `engine/`, a worker thread. Tests
 * of the protocol around it bring a scripted one.
 *
 * Contract: for the same samples `finish()` gives the same text, however they are cut into pieces for
 * `accept()` and `finish()`. A stream's result never depends on the streams before it.
 */
export interface Recognizer {
  /**
   * Loads the model and warms it up. May be called again after it failed.
   * @throws ModelLoadError that names file, found and expected; ExecutionProviderError.
   */
  load(model: LocatedModel): Promise<ModelInfo>;

  /**
   * Starts a recording from zero state. Only one is open at a time: a second `open()` waits until the first
   * is closed.
   */
  open(): Promise<RecognizerStream>;

  /** Waits for a running model call, then ends the thread. */
  close(): Promise<void>;
}

export interface RecognizerStream {
  /**
   * Takes the next samples and runs an update: in a streaming family every step they complete, in a
   * re-decoding one the audio so far (Whisper: since the last pause).
   * @param pcm 16 kHz mono PCM16, little-endian bytes, even length, at most 480,000 in all.
   * @returns the full text so far; the same string as before when nothing changed.
   * @throws InferenceError when a model run fails. The stream is then of no further use, but must still be
   * closed.
   */
  accept(pcm: Uint8Array): Promise<string>;

  /**
   * Takes the last samples, as `accept()` does, and runs all that is left. A streaming model gets trailing
   * padding, so that its last tokens are emitted. To pass the last samples here takes less time than to
   * `accept()` them before.
   * @param pcm may be empty.
   * @returns the final text.
   */
  finish(pcm: Uint8Array): Promise<string>;

  /** Frees the stream; safe in every state and more than once. Resolves when no model call of it runs. */
  close(): Promise<void>;
}

/** How features are computed. `funasr` is Kaldi's with a Hamming window, of samples at the scale of int16. */
export type Features = 'kaldi' | 'whisper' | 'funasr';

export interface ModelInfo {
  /** Catalogue id, `bundled`, or the folder's path as configured. */
  readonly id: string;
  /** Name of its family, as in `engine/families/families.ts`. */
  readonly family: string;
  /**
   * An update of a stream looks at the audio again: at all so far, in Whisper at what was said since the last
   * pause. So it takes longer the longer that is. Otherwise state is carried from step to step, and each
   * sample is seen once.
   */
  readonly isReDecoding: boolean;
  readonly features: Features;
  readonly vocabularySize: number;
  /** Audio per model step, or update, in milliseconds. */
  readonly stepMs: number;
  /** Execution provider in use, as onnxruntime names it (`cpu`, `cuda`, `webgpu`). */
  readonly provider: string;
  readonly threads: number;
  /** From `load()` to ready, warm-up included. */
  readonly loadMs: number;
}

/** The model files cannot be used. `message` is one line: file, what was found, what was expected. */
export class ModelLoadError extends PrintableError {
  override readonly name = 'ModelLoadError';
}

/**
 * An execution provider that was asked for by name does not load, or the runtime itself does not load on this
 * machine. `message` is one line that names it. The process does not start with another one.
 */
export class ExecutionProviderError extends PrintableError {
  override readonly name = 'ExecutionProviderError';
}

/** A model run failed. */
export class InferenceError extends PrintableError {
  override readonly name = 'InferenceError';
}
