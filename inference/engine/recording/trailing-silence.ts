import { framingOf } from '../features/feature-extractor.ts';
import { FRAME_LENGTH_SAMPLES, FRAME_SHIFT_SAMPLES } from '../features/frames.ts';
import type { AcousticModel } from './acoustic-model.ts';

/**
 * Streaming models emit a token some time after it was spoken. This many frames (0.6 s) are allowed for that,
 * beyond the look-ahead that is part of a step's window.
 */
const EMISSION_DELAY_FRAMES = 60;

/**
 * The trailing padding of a recording, so that its last tokens are emitted. At the end, frames that fill no
 * step are dropped. So steps run until the last frame with a recorded sample in it, and the emission delay
 * behind it, lie in front of the next step's start. What a window reads beyond that is its look-ahead.
 * @param recordedSamples at least 1.
 * @returns samples of digital silence.
 */
export function trailingSilenceSamples(recordedSamples: number, layout: AcousticModel['layout']): number {
  const { leftEdgeSamples } = framingOf(layout.features);
  const lastRecordedFrame = Math.floor((recordedSamples - 1 + leftEdgeSamples) / FRAME_SHIFT_SAMPLES);
  const steps = Math.ceil((lastRecordedFrame + 1 + EMISSION_DELAY_FRAMES) / layout.shiftFrames);
  // The last step runs only when a frame behind its window is there.
  const lastFrame = (steps - 1) * layout.shiftFrames + layout.windowFrames;
  return lastFrame * FRAME_SHIFT_SAMPLES + FRAME_LENGTH_SAMPLES - leftEdgeSamples - recordedSamples;
}
