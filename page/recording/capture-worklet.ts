import { PcmConverter } from '../../client/audio/converter.ts';
import { FrameCutter } from '../../client/audio/frames.ts';

/** What the worklet posts: frames of 100 ms as they fill, then one `end`. Any message to the worklet means: stop. */
export type CaptureMessage = { type: 'frame'; pcm: Int16Array } | { type: 'end' };

// The worklet's own globals; TypeScript's DOM library describes only the page's.
declare const sampleRate: number;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** Runs on the audio thread, so a busy page loses no audio: device rate → 16 kHz → PCM16 frames. */
class CaptureProcessor extends AudioWorkletProcessor {
  readonly #converter = new PcmConverter(sampleRate);
  readonly #cutter = new FrameCutter();
  #ended = false;

  constructor() {
    super();
    this.port.onmessage = () => {
      if (this.#ended) return;
      this.#ended = true;
      this.#post(this.#cutter.push(this.#converter.flush()));
      this.#post(this.#cutter.flush());
      this.port.postMessage({ type: 'end' } satisfies CaptureMessage);
    };
  }

  /** Called by the browser for every 128 samples; false lets it drop the processor. */
  process(inputs: Float32Array[][]): boolean {
    if (this.#ended) return false;
    const samples = inputs[0]?.[0];
    if (samples !== undefined) this.#post(this.#cutter.push(this.#converter.push(samples)));
    return true;
  }

  #post(frames: readonly Int16Array[]): void {
    for (const pcm of frames) this.port.postMessage({ type: 'frame', pcm } satisfies CaptureMessage);
  }
}

registerProcessor('capture', CaptureProcessor);
