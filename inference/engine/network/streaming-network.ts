import type { OnnxOutline } from '../files/onnx-outline.ts';
import { loadParts } from './load-parts.ts';
import { type NetworkPart, wholeNetwork } from './network-part.ts';
import type { NetworkSignature } from './network-signature.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from './onnx-session.ts';
import { StatefulNetwork } from './stateful-network.ts';
import { elementCount } from './tensors.ts';

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

/** Runs the next steps on their frames, (windowFrames, 80) each, and gives of each output 0, rows of one size. */
export type RunSteps = (steps: readonly Float32Array[], signal: AbortSignal) => Promise<Float32Array[]>;

/** A loaded network that hears frames step by step. */
export class StreamingNetwork {
  readonly layout: StreamingLayout;
  /** The graph, or the part of it, whose output 0 is the result. */
  readonly onnx: OnnxModel;
  readonly #parts: readonly NetworkPart[];

  private constructor(layout: StreamingLayout, parts: readonly NetworkPart[], onnx: OnnxModel) {
    this.layout = layout;
    this.onnx = onnx;
    this.#parts = parts;
  }

  /** @throws ModelLoadError when the runtime refuses the file; ExecutionProviderError. */
  static async load(
    outline: OnnxOutline,
    layout: StreamingLayout,
    options: SessionOptions,
  ): Promise<StreamingNetwork> {
    const divided = await loadParts(outline, layout.signature, options);
    if (divided !== undefined) return new StreamingNetwork(layout, divided.parts, divided.result);
    const onnx = await loadOnnxModel(outline.path, options);
    return new StreamingNetwork(layout, [wholeNetwork(onnx, outline, layout.signature)], onnx);
  }

  /** Zero state. @param rowSize of the result. */
  open(rowSize: number): RunSteps {
    const { signature, fillInput } = this.layout;
    const network = new StatefulNetwork(this.#parts, this.onnx, signature.input, rowSize);
    const toInput = (frames: Float32Array): Float32Array => {
      const input = new Float32Array(elementCount(signature.input));
      fillInput(frames, input);
      return input;
    };
    return (steps, signal) => network.run(steps.map(toInput), signal);
  }

  async release(): Promise<void> {
    await Promise.all(this.#parts.map(({ onnx }) => onnx.release()));
  }
}
