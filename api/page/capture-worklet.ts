import { Resampler } from '../client/audio/resampler.ts';
import { FrameAssembler, type Pcm } from './pcm.ts';

/** What the worklet posts: frames of 100 ms as they fill, then one `end`. Any message to the worklet means: stop. */
export type CaptureMessage = { type: 'frame'; pcm: Pcm } | { type: 'end'; reason: 'stopped' | 'limit' };

// The worklet's own globals; TypeScript's DOM library describes only the page's.
declare const sampleRate: number;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** Runs on the audio thread, so a busy page loses no audio: device rate → 16 kHz → PCM16 frames. */
class CaptureProcessor extends AudioWorkletProcessor {
  readonly #resampler = new Resampler(sampleRate);
  readonly #frames = new FrameAssembler();
  #ended = false;

  constructor() {
    super();
    this.port.onmessage = () => {
      if (this.#ended) return;
      this.#post(this.#frames.push(this.#resampler.flush()));
      this.#end('stopped');
    };
  }

  /** Called by the browser for every 128 samples; false lets it drop the processor. */
  process(inputs: Float32Array[][]): boolean {
    if (this.#ended) return false;
    const samples = inputs[0]?.[0];
    if (samples !== undefined) this.#post(this.#frames.push(this.#resampler.push(samples)));
    if (this.#frames.full) this.#end('limit');
    return !this.#ended;
  }

  #post(frames: Pcm[]): void {
    for (const pcm of frames) {
      this.port.postMessage({ type: 'frame', pcm } satisfies CaptureMessage, [pcm.buffer]);
    }
  }

  #end(reason: 'stopped' | 'limit'): void {
    this.#post(this.#frames.flush());
    this.#ended = true;
    this.port.postMessage({ type: 'end', reason } satisfies CaptureMessage);
  }
}

registerProcessor('capture', CaptureProcessor);
