import type { Features } from '../../recognizer.ts';
import type { NetworkSignature } from '../onnx/network-signature.ts';
import type { OnnxOutline } from '../onnx/onnx-reader.ts';
import { loadOnnxModel, type OnnxModel, type SessionOptions } from '../onnx/onnx-session.ts';
import { elementCount } from '../onnx/tensors.ts';
import { errorText } from '../text/error-text.ts';
import { loadParts } from './load-parts.ts';
import { type LoadedNetwork, wholeNetwork } from './network-part.ts';
import { StatefulNetwork } from './stateful-network.ts';

/** What a family makes of a file: the sizes of its steps, and what goes in and out. */
export interface StreamingLayout {
  readonly features: Features;
  /** Frames a step reads. */
  readonly windowFrames: number;
  /** Frames between the starts of two steps. */
  readonly shiftFrames: number;
  readonly signature: NetworkSignature;
  /** Brings a step's frames, (windowFrames, 80), into the form of the input tensor. */
  fillInput(frames: Float32Array, input: Float32Array): void;
}

/** Runs the next steps on their frames, (windowFrames, 80) each. Gives output 0 of each step: rows of one size. */
export type RunSteps = (steps: readonly Float32Array[], signal: AbortSignal) => Promise<Float32Array[]>;

/** A loaded network that takes frames step by step. */
export class StreamingNetwork {
  readonly layout: StreamingLayout;
  readonly #network: LoadedNetwork;

  private constructor(layout: StreamingLayout, network: LoadedNetwork) {
    this.layout = layout;
    this.#network = network;
  }

  /** @throws ModelLoadError when the runtime refuses the file; ExecutionProviderError. */
  static async load(
    outline: OnnxOutline,
    layout: StreamingLayout,
    options: SessionOptions,
  ): Promise<StreamingNetwork> {
    const { signature } = layout;
    let refusal: unknown;
    const divided = await loadParts(outline, signature, options).catch((cause: unknown) => {
      refusal = cause;
    });
    if (divided !== undefined) return new StreamingNetwork(layout, divided);
    const onnx = await loadOnnxModel(outline.path, options);
    if (refusal !== undefined) {
      const reason = errorText(refusal);
      options.log(`${outline.fileName} runs in one piece, where in parts it would be faster (${reason})`);
    }
    return new StreamingNetwork(layout, wholeNetwork(onnx, outline, signature));
  }

  /** The graph, or the part of it, whose output 0 is the result. */
  get onnx(): OnnxModel {
    return this.#network.result;
  }

  /** Zero state. @param rowSize of the result. */
  open(rowSize: number): RunSteps {
    const network = new StatefulNetwork(this.#network, rowSize);
    const stepValues = elementCount(this.#network.input);
    return (steps, signal) => {
      const input = new Float32Array(steps.length * stepValues);
      for (const [i, frames] of steps.entries())
        this.layout.fillInput(frames, input.subarray(i * stepValues, (i + 1) * stepValues));
      return network.run(input, signal);
    };
  }

  async release(): Promise<void> {
    await Promise.all(this.#network.parts.map(({ onnx }) => onnx.release()));
  }
}
