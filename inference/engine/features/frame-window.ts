import { MEL_BINS } from './frames.ts';

/**
 * The frames of the model's next step. They are filled one by one, and move on by a step. Step k reads frames
 * `shift·k … shift·k + length − 1`. As in sherpa-onnx, it runs only once a frame behind them is there too
 * (`shift·k + length` strictly less than the number of frames).
 */
export class FrameWindow {
  readonly #lengthFrames: number;
  readonly #shiftFrames: number;
  readonly #buffer: Float32Array;
  #filledFrames = 0;

  constructor(lengthFrames: number, shiftFrames: number) {
    this.#lengthFrames = lengthFrames;
    this.#shiftFrames = shiftFrames;
    this.#buffer = new Float32Array((lengthFrames + 1) * MEL_BINS);
  }

  /** A step can run; until `advance()` no frame can be added. */
  get full(): boolean {
    return this.#filledFrames > this.#lengthFrames;
  }

  /** The 80 values to be written for the next frame. */
  nextFrame(): Float32Array {
    const start = this.#filledFrames * MEL_BINS;
    this.#filledFrames += 1;
    return this.#buffer.subarray(start, start + MEL_BINS);
  }

  /** The step's frames, (length, 80) row by row; a view that `advance()` changes. */
  get frames(): Float32Array {
    return this.#buffer.subarray(0, this.#lengthFrames * MEL_BINS);
  }

  advance(): void {
    this.#buffer.copyWithin(0, this.#shiftFrames * MEL_BINS, this.#filledFrames * MEL_BINS);
    this.#filledFrames -= this.#shiftFrames;
  }
}
