import type { Features } from '../../recognizer.ts';
import { framingOf } from '../features/feature-extractor.ts';
import type { FilterBank } from '../features/frames.ts';
import { GrowingFrames } from '../features/growing-frames.ts';
import type { OnnxModel } from '../onnx/onnx-session.ts';
import type { EngineModel, EngineRecording } from './engine-model.ts';
import { type ReDecoder, reDecoded } from './re-decoded-recording.ts';

/** A loaded network that is run on a whole recording. */
export interface WholeNetwork {
  readonly features: Features;
  readonly filterBank: FilterBank;
  readonly vocabularySize: number;
  readonly onnx: OnnxModel;

  /**
   * @param logMel all frames of a recording, (frames, 80) row by row.
   * @throws InferenceError
   */
  recognize(logMel: Float32Array): Promise<string>;
}

/** A model of which each update is one run on all of the recording. */
export class ReDecodingModel implements EngineModel {
  readonly info: EngineModel['info'];
  readonly judges = false;
  readonly #network: WholeNetwork;

  constructor(network: WholeNetwork) {
    const { features, vocabularySize, onnx } = network;
    this.info = { features, vocabularySize, stepMs: 500, provider: onnx.provider };
    this.#network = network;
  }

  open(signal: AbortSignal): EngineRecording {
    return reDecoded(new WholeReDecoder(this.#network, signal));
  }
}

class WholeReDecoder implements ReDecoder {
  readonly #network: WholeNetwork;
  readonly #frames: GrowingFrames;
  readonly #signal: AbortSignal;
  /** What `#text` is of. */
  #recognized: Float32Array = new Float32Array(0);
  #text = '';

  constructor(network: WholeNetwork, signal: AbortSignal) {
    this.#network = network;
    this.#frames = new GrowingFrames(network.filterBank, framingOf(network.features));
    this.#signal = signal;
  }

  accept(samples: Float32Array): void {
    this.#frames.accept(samples);
  }

  /** Runs the network where there are other frames than before. */
  async update(): Promise<string> {
    const logMel = this.#frames.whole();
    if (!isSame(logMel, this.#recognized)) {
      this.#signal.throwIfAborted();
      this.#text = await this.#network.recognize(logMel);
      this.#recognized = logMel;
    }
    return this.#text;
  }

  finish(): Promise<string> {
    return this.update();
  }
}

function isSame(a: Float32Array, b: Float32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
