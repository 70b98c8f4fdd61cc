import { MAX_WINDOW_FRAMES, type ModelMetadata } from '../onnx/model-metadata.ts';
import { MEL_BINS } from './frames.ts';

/** Low frame rate, as FunASR's models have it: several frames make a row of the input. */
export interface Stacking {
  /** Frames in a row. */
  readonly rowFrames: number;
  /** Frames from one row to the next. */
  readonly shiftFrames: number;
  /** For each value of a row, what is added to it, and what it is multiplied by then. */
  readonly negMean: Float32Array;
  readonly inverseDeviation: Float32Array;
}

/** @throws ModelLoadError when the metadata of sherpa-onnx's export scripts is not there. */
export function readStacking(metadata: ModelMetadata): Stacking {
  const rowFrames = metadata.integer('lfr_window_size', 1, MAX_WINDOW_FRAMES);
  return {
    rowFrames,
    shiftFrames: metadata.integer('lfr_window_shift', 1, rowFrames),
    negMean: metadata.numbers('neg_mean', rowFrames * MEL_BINS),
    inverseDeviation: metadata.numbers('inv_stddev', rowFrames * MEL_BINS),
  };
}

/**
 * The rows of a whole recording, normalised. If a row has 7 frames, row i holds frames shift·i − 3 … shift·i + 3.
 * In place of those before the first and behind the last frame, these are repeated. So no frame is left out at the
 * end (the frontend of FunASR).
 * @param logMel (frames, 80) row by row.
 * @returns (rows, 80 · rowFrames) row by row.
 */
export function stackFrames(logMel: Float32Array, stacking: Stacking): Float32Array {
  const { rowFrames, shiftFrames } = stacking;
  const rows = Math.ceil(logMel.length / MEL_BINS / shiftFrames);
  return stackRows(logMel, rows, -Math.floor((rowFrames - 1) / 2), stacking);
}

/**
 * Rows of a stretch, normalised.
 * @param first frame of the first row; frames outside of the stretch are the nearest one in it.
 * @returns (rows, 80 · rowFrames) row by row.
 */
export function stackRows(
  logMel: Float32Array,
  rows: number,
  first: number,
  { rowFrames, shiftFrames, negMean, inverseDeviation }: Stacking,
): Float32Array {
  const frames = logMel.length / MEL_BINS;
  const rowValues = rowFrames * MEL_BINS;
  const stacked = new Float32Array(rows * rowValues);
  for (let i = 0; i < rows * rowFrames; i++) {
    const at = first + shiftFrames * Math.floor(i / rowFrames) + (i % rowFrames);
    const frame = Math.max(0, Math.min(at, frames - 1));
    stacked.set(logMel.subarray(frame * MEL_BINS, (frame + 1) * MEL_BINS), i * MEL_BINS);
  }
  return stacked.map(
    (value, i) => Math.fround(value + (negMean[i % rowValues] ?? 0)) * (inverseDeviation[i % rowValues] ?? 0),
  );
}
