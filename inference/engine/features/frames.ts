/** The frames that every supported model reads: 25 ms every 10 ms, 80 mel bands. */

/** Mel bins a frame. */
export const MEL_BINS = 80;
/** Samples between the starts of two frames (10 ms at 16 kHz). */
export const FRAME_SHIFT_SAMPLES = 160;
/** Samples of a frame (25 ms at 16 kHz). */
export const FRAME_LENGTH_SAMPLES = 400;
/** With `snip_edges` off, frame 0 starts this many samples before the first one. */
export const LEFT_EDGE_SAMPLES = (FRAME_LENGTH_SAMPLES - FRAME_SHIFT_SAMPLES) / 2;

/** The computation of one frame, its tables shared by all recordings; not to be used by two threads. */
export interface FilterBank {
  /**
   * @param frame 400 samples; left as they are.
   * @param out 80 values.
   */
  compute(frame: Float32Array, out: Float32Array): void;
}
