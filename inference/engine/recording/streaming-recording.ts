import { BYTES_PER_SAMPLE } from '../../../common/audio/limits.ts';
import type { FeatureExtractor } from '../features/feature-extractor.ts';
import { FrameWindow } from '../features/frame-window.ts';
import type { AcousticModel, StepDecoder } from './acoustic-model.ts';
import type { EngineRecording } from './engine-model.ts';
import { BLOCK_SAMPLES, sampleBlocks } from './samples.ts';
import { trailingSilenceSamples } from './trailing-silence.ts';

/**
 * The most steps that are run together. That takes less time than to run them one by one, but each holds its
 * frames and the tensors between parts. The longest recording has 50 of 320 ms.
 */
const MAX_STEPS = 64;

/** One recording on its way through a streaming model: PCM → features → steps → text. */
export class StreamingRecording implements EngineRecording {
  readonly #model: AcousticModel;
  readonly #extractor: FeatureExtractor;
  readonly #decoder: StepDecoder;
  readonly #window: FrameWindow;
  readonly #signal: AbortSignal;
  /** Frames of the steps that can run. */
  readonly #steps: Float32Array[] = [];
  #acceptedSamples = 0;
  #writtenTokens = 0;
  #text = '';

  /** @param signal aborts between two model runs. */
  constructor(model: AcousticModel, extractor: FeatureExtractor, signal: AbortSignal) {
    this.#model = model;
    this.#extractor = extractor;
    this.#decoder = model.open();
    this.#window = new FrameWindow(model.layout.windowFrames, model.layout.shiftFrames);
    this.#signal = signal;
  }

  get tokenIds(): readonly number[] {
    return this.#decoder.tokenIds;
  }

  async accept(pcm: Uint8Array): Promise<string> {
    await this.#take(pcm);
    await this.#runSteps();
    return this.#textSoFar();
  }

  /** Runs what is left, with trailing padding. */
  async finish(pcm: Uint8Array): Promise<string> {
    await this.#take(pcm);
    if (this.#acceptedSamples === 0) return '';
    let leftSamples = trailingSilenceSamples(this.#acceptedSamples, this.#model.layout);
    const silence = new Float32Array(BLOCK_SAMPLES);
    while (leftSamples > 0) {
      const block = silence.subarray(0, leftSamples);
      await this.#feed(block);
      leftSamples -= block.length;
    }
    await this.#runSteps();
    this.#signal.throwIfAborted();
    await this.#decoder.flush?.();
    return this.#textSoFar();
  }

  async #take(pcm: Uint8Array): Promise<void> {
    for (const block of sampleBlocks(pcm)) await this.#feed(block);
    this.#acceptedSamples += pcm.byteLength / BYTES_PER_SAMPLE;
  }

  async #feed(samples: Float32Array): Promise<void> {
    let next = 0;
    while (next < samples.length) {
      next = this.#extractor.accept(samples, next, this.#window);
      if (!this.#window.full) continue;
      this.#steps.push(this.#window.frames.slice());
      this.#window.advance();
      if (this.#steps.length === MAX_STEPS) await this.#runSteps();
    }
  }

  async #runSteps(): Promise<void> {
    if (this.#steps.length > 0) await this.#decoder.run(this.#steps.splice(0), this.#signal);
  }

  #textSoFar(): string {
    const { tokenIds } = this.#decoder;
    if (tokenIds.length !== this.#writtenTokens) {
      this.#text = this.#model.transcript.text(tokenIds);
      this.#writtenTokens = tokenIds.length;
    }
    return this.#text;
  }
}
