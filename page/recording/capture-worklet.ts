import { PcmConverter } from '../../client/audio/converter.ts';
import { FrameCutter } from '../../client/audio/frames.ts';
import { MAX_RECORDING_SAMPLES } from '../../common/audio/limits.ts';

/** What the worklet posts: frames of 100 ms as they fill, then one `end`. Any message to the worklet means: stop. */
export type CaptureMessage =
  | { type: 'frame'; pcm: Int16Array }
  | { type: 'end'; reason: 'stopped' | 'limit' };

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
  #leftSamples = MAX_RECORDING_SAMPLES;
  #ended = false;

  constructor() {
    super();
    this.port.onmessage = () => {
      if (this.#ended) return;
      this.#take(this.#converter.flush());
      this.#end('stopped');
    };
  }

  /** Called by the browser for every 128 samples; false lets it drop the processor. */
  process(inputs: Float32Array[][]): boolean {
    if (this.#ended) return false;
    const samples = inputs[0]?.[0];
    if (samples !== undefined) this.#take(this.#converter.push(samples));
    if (this.#leftSamples === 0) this.#end('limit');
    return !this.#ended;
  }

  /** No sample past the longest recording is taken. */
  #take(samples: Int16Array): void {
    const taken = samples.subarray(0, this.#leftSamples);
    this.#leftSamples -= taken.length;
    for (const pcm of this.#cutter.push(taken)) this.#post({ type: 'frame', pcm });
  }

  #end(reason: 'stopped' | 'limit'): void {
    this.#ended = true;
    for (const pcm of this.#cutter.flush()) this.#post({ type: 'frame', pcm });
    this.#post({ type: 'end', reason });
  }

  #post(message: CaptureMessage): void {
    this.port.postMessage(message);
  }
}

registerProcessor('capture', CaptureProcessor);
