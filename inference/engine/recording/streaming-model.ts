import { createFilterBank, FeatureExtractor, framingOf } from '../features/feature-extractor.ts';
import { type FilterBank, FRAME_LENGTH_SAMPLES, MEL_BINS } from '../features/frames.ts';
import type { AcousticModel } from './acoustic-model.ts';
import type { EngineModel } from './engine-model.ts';
import { StreamingRecording } from './streaming-recording.ts';

const FRAME_MS = 10;

/** A model that carries its state from step to step and sees each sample once. */
export class StreamingModel implements EngineModel {
  readonly info: EngineModel['info'];
  readonly judges = false;
  readonly acoustic: AcousticModel;
  readonly #filterBank: FilterBank;

  constructor(acoustic: AcousticModel) {
    const { vocabularySize, onnx, layout } = acoustic;
    const { features, shiftFrames } = layout;
    this.info = { features, vocabularySize, stepMs: shiftFrames * FRAME_MS, provider: onnx.provider };
    this.acoustic = acoustic;
    this.#filterBank = createFilterBank(features);
  }

  /** Runs two steps of silence. The second is the first whose states come out of the model. */
  async warmUp(): Promise<void> {
    const decoder = this.acoustic.open();
    const { signal } = new AbortController();
    for (let step = 0; step < 2; step++) await decoder.run([this.#silence()], signal);
    await decoder.warmUp?.();
  }

  open(signal: AbortSignal): StreamingRecording {
    const extractor = new FeatureExtractor(this.#filterBank, framingOf(this.info.features));
    return new StreamingRecording(this.acoustic, extractor, signal);
  }

  /** The frames of a step of digital silence. */
  #silence(): Float32Array {
    const frame = new Float32Array(MEL_BINS);
    this.#filterBank.compute(new Float32Array(FRAME_LENGTH_SAMPLES), frame);
    const frames = new Float32Array(this.acoustic.layout.windowFrames * MEL_BINS);
    for (let start = 0; start < frames.length; start += MEL_BINS) frames.set(frame, start);
    return frames;
  }
}
