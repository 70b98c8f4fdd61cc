import { BYTES_PER_SAMPLE } from '../../common/audio/limits.ts';
import type { AcousticModel, StepDecoder } from './acoustic-model.ts';
import type { FeatureExtractor } from './features/feature-extractor.ts';
import { FrameWindow } from './features/frame-window.ts';
import type { TranscriptWriter } from './text/transcript.ts';
import { trailingSilenceSamples } from './trailing-silence.ts';

/** Samples converted at a time; the size changes nothing but memory. */
const BLOCK_SAMPLES = 3200;
const FULL_SCALE = 32_768;

/**
 * Steps that are run together when there is audio for them, which takes less time than to run them one by one; each holds its frames and what
 * goes between parts. The longest recording has 50 of 320 ms.
 */
const MAX_STEPS = 64;

/** One recording on its way through the model: PCM → features → steps → text. */
export class Recording {
  readonly #model: AcousticModel;
  readonly #extractor: FeatureExtractor;
  readonly #transcript: TranscriptWriter;
  readonly #decoder: StepDecoder;
  readonly #window: FrameWindow;
  readonly #block = new Float32Array(BLOCK_SAMPLES);
  readonly #signal: AbortSignal;
  /** Frames of the steps that can run. */
  readonly #steps: Float32Array[] = [];
  /** A step that failed leaves the model's states undefined: every later call fails as it did. */
  #failure: { readonly cause: unknown } | undefined;
  #acceptedSamples = 0;
  #writtenTokens = 0;
  #text = '';

  /** @param signal aborts between two model runs. */
  constructor(
    model: AcousticModel,
    extractor: FeatureExtractor,
    transcript: TranscriptWriter,
    signal: AbortSignal,
  ) {
    this.#model = model;
    this.#extractor = extractor;
    this.#transcript = transcript;
    this.#decoder = model.open();
    this.#window = new FrameWindow(model.layout.windowFrames, model.layout.shiftFrames);
    this.#signal = signal;
  }

  get tokenIds(): readonly number[] {
    return this.#decoder.tokenIds;
  }

  /**
   * @param pcm 16-bit little-endian samples; an even number of bytes.
   * @returns the text so far.
   */
  async accept(pcm: Uint8Array): Promise<string> {
    await this.#hear(pcm);
    await this.#runSteps();
    return this.#textSoFar();
  }

  /**
   * Takes the last samples, and runs what is left with silence behind it.
   * @param pcm as in `accept()`; may be empty.
   * @returns the final text.
   */
  async finish(pcm: Uint8Array): Promise<string> {
    await this.#hear(pcm);
    if (this.#acceptedSamples === 0) return '';
    let leftSamples = trailingSilenceSamples(this.#acceptedSamples, this.#model.layout);
    this.#block.fill(0);
    while (leftSamples > 0) {
      const block = this.#block.subarray(0, Math.min(BLOCK_SAMPLES, leftSamples));
      await this.#feed(block);
      leftSamples -= block.length;
    }
    await this.#runSteps();
    return this.#textSoFar();
  }

  async #hear(pcm: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.cause;
    const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.byteLength);
    const totalSamples = pcm.byteLength / BYTES_PER_SAMPLE;
    for (let start = 0; start < totalSamples; start += BLOCK_SAMPLES) {
      const block = this.#block.subarray(0, Math.min(BLOCK_SAMPLES, totalSamples - start));
      for (let i = 0; i < block.length; i++) {
        block[i] = view.getInt16(BYTES_PER_SAMPLE * (start + i), true) / FULL_SCALE;
      }
      await this.#feed(block);
    }
    this.#acceptedSamples += totalSamples;
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
    if (this.#steps.length === 0) return;
    try {
      await this.#decoder.run(this.#steps.splice(0), this.#signal);
    } catch (cause) {
      this.#failure = { cause };
      throw cause;
    }
  }

  #textSoFar(): string {
    const { tokenIds } = this.#decoder;
    if (tokenIds.length !== this.#writtenTokens) {
      this.#text = this.#transcript.text(tokenIds);
      this.#writtenTokens = tokenIds.length;
    }
    return this.#text;
  }
}
