/** The frames that every supported model reads: 25 ms every 10 ms, 80 mel bands (128 in Whisper's large models). */

/** Mel bins a frame. */
export const MEL_BINS = 80;
/** Samples between the starts of two frames (10 ms at 16 kHz). */
export const FRAME_SHIFT_SAMPLES = 160;
/** Samples of a frame (25 ms at 16 kHz). */
export const FRAME_LENGTH_SAMPLES = 400;
/** With `snip_edges` off, frame 0 starts this many samples before the first one. */
export const LEFT_EDGE_SAMPLES = (FRAME_LENGTH_SAMPLES - FRAME_SHIFT_SAMPLES) / 2;

/** And the last one ends at most this many behind the last one: (samples + 80) / 160 frames, rounded down. */
export const RIGHT_EDGE_SAMPLES = LEFT_EDGE_SAMPLES + FRAME_SHIFT_SAMPLES / 2;

/** Computes frames one by one. All recordings share its tables. Two threads must not use it. */
export interface FilterBank {
  /** Values of a frame. */
  readonly bins: number;

  /**
   * @param frame 400 samples; left as they are.
   * @param out `bins` values.
   */
  compute(frame: Float32Array, out: Float32Array): void;
}

/** Where frames lie: frame f starts at sample 160 f − leftEdgeSamples. */
export interface Framing {
  readonly leftEdgeSamples: number;
  /** Samples before the first are mirrored: at its edge, which repeats it (−1 → 0), or about it (−1 → 1). */
  readonly mirror: 'repeating the first' | 'about the first';
}

/** Kaldi's with `snip_edges` off. */
export const KALDI_FRAMING: Framing = { leftEdgeSamples: LEFT_EDGE_SAMPLES, mirror: 'repeating the first' };

/** Kaldi's with `snip_edges` on: no frame begins before the first sample, so nothing is mirrored. */
export const SNIPPED_FRAMING: Framing = { leftEdgeSamples: 0, mirror: 'repeating the first' };

/** (rows, columns) to (columns, rows). */
export function transpose(from: Float32Array, rows: number, columns: number, to: Float32Array): void {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      to[column * rows + row] = from[row * columns + column] ?? 0;
  }
}
