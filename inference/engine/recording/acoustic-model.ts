import type { OnnxModel } from '../onnx/onnx-session.ts';
import type { StreamingLayout } from '../partition/streaming-network.ts';
import type { Transcript } from '../text/transcript.ts';

/** A loaded streaming model: its sizes, and a decoder for each recording. */
export interface AcousticModel {
  /** Makes its tokens a text. */
  readonly transcript: Transcript;
  /** Values of an output frame. */
  readonly vocabularySize: number;
  readonly layout: Pick<StreamingLayout, 'features' | 'windowFrames' | 'shiftFrames'>;
  /** The graph that most of the time goes to. */
  readonly onnx: Pick<OnnxModel, 'provider'>;

  /** Zero state. */
  open(): StepDecoder;
}

/** One recording's decoder: the model's states and the tokens so far. */
export interface StepDecoder {
  /** Ids of the tokens so far; only ever appended to. */
  readonly tokenIds: readonly number[];

  /**
   * Runs the next steps.
   * @param steps of each its frames, (windowFrames, 80) row by row; not changed before the promise settles.
   * @param signal aborts between two model runs.
   * @throws InferenceError when a model run fails; the signal's reason. Nothing more can be run then.
   */
  run(steps: readonly Float32Array[], signal: AbortSignal): Promise<void>;

  /** Behind the last step: a token that has begun ends. Missing where none is left over. @throws InferenceError */
  flush?(): Promise<void>;

  /** Runs the graph that steps of silence do not reach. @throws InferenceError */
  warmUp?(): Promise<void>;
}
