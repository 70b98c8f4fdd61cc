import type { OnnxOutline } from '../files/onnx-outline.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from './onnx-session.ts';
import { type NetworkSignature, StatefulNetwork } from './stateful-network.ts';

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

  private constructor(layout: StreamingLayout, onnx: OnnxModel) {
    this.layout = layout;
    this.onnx = onnx;
  }

  /** @throws ModelLoadError when the runtime refuses the file; ExecutionProviderError. */
  static async load(
    outline: OnnxOutline,
    layout: StreamingLayout,
    options: SessionOptions,
  ): Promise<StreamingNetwork> {
    return new StreamingNetwork(layout, await loadOnnxModel(outline.path, options));
  }

  /** Zero state. @returns runs the next step on its frames, (windowFrames, 80), and gives output 0, rows of `rowSize` values. */
  open(rowSize: number): (frames: Float32Array) => Promise<Float32Array> {
    const network = new StatefulNetwork(this.onnx, this.layout.signature, rowSize);
    return (frames) => {
      this.layout.fillInput(frames, network.input);
      return network.run();
    };
  }
}
