import type { OnnxOutline } from './onnx-outline.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from './onnx-session.ts';
import { canPackStates, packStates } from './packed-states.ts';
import type { NetworkSignature } from './stateful-network.ts';
import { StatefulNetwork } from './stateful-network.ts';

/** What a family makes of a file: the sizes of its steps, and what goes in and out. */
export interface StreamingLayout {
  readonly features: 'kaldi' | 'whisper';
  /** Frames a step reads. */
  readonly windowFrames: number;
  /** Frames between the starts of two steps. */
  readonly shiftFrames: number;
  readonly signature: NetworkSignature;
  /** Brings a step's frames, (windowFrames, 80), into the form of the input tensor. */
  fillInput(frames: Float32Array, input: Float32Array): void;
}

/** A loaded network that hears frames step by step. */
export class StreamingNetwork {
  readonly layout: StreamingLayout;
  readonly onnx: OnnxModel;
  readonly #signature: NetworkSignature;

  private constructor(layout: StreamingLayout, onnx: OnnxModel, signature: NetworkSignature) {
    this.layout = layout;
    this.onnx = onnx;
    this.#signature = signature;
  }

  /** @throws ModelLoadError when the runtime refuses the file. */
  static async load(
    outline: OnnxOutline,
    layout: StreamingLayout,
    options: SessionOptions,
  ): Promise<StreamingNetwork> {
    if (!canPackStates(outline, layout.signature)) {
      return new StreamingNetwork(layout, await loadOnnxModel(outline.path, options), layout.signature);
    }
    const { bytes, signature } = await packStates(outline, layout.signature);
    return new StreamingNetwork(layout, await loadOnnxModel(outline.path, options, bytes), signature);
  }

  /** Zero state. @returns runs the next step on its frames, (windowFrames, 80), and gives output 0. */
  open(): (frames: Float32Array) => Promise<Float32Array> {
    const network = new StatefulNetwork(this.onnx, this.#signature);
    return (frames) => {
      this.layout.fillInput(frames, network.input);
      return network.run();
    };
  }
}
