/** What was said in one piece of a long recording. */
export interface TranscriptPiece {
  /** Empty where the service heard no words. */
  readonly text: string;
  /** Where its speech begins and ends in the recording, in whole milliseconds. */
  readonly start_ms: number;
  readonly end_ms: number;
}

/** A recording of any length, or as much of it as is recognized. */
export interface Transcript {
  readonly text: string;
  /** Duration of the recognized audio in whole milliseconds. */
  readonly audio_ms: number;
  /** Duration of the model's work on its uploads in milliseconds. Of streams it is not known. */
  readonly inference_ms: number;
  readonly pieces: readonly TranscriptPiece[];
}
