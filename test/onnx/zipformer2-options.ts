/** One entry for each stack of layers. */
export interface Zipformer2Sizes {
  readonly downsampling: readonly number[];
  readonly layers: readonly number[];
  readonly dims: readonly number[];
  readonly feedForwardDims: readonly number[];
  readonly queryHeadDims: readonly number[];
  readonly valueHeadDims: readonly number[];
  readonly heads: readonly number[];
  readonly kernels: readonly number[];
  readonly left: readonly number[];
}

export interface Zipformer2Options {
  readonly sizes: Zipformer2Sizes;
  /** Frames of 10 ms that a step moves on; even, and half of it divisible by every downsampling. */
  readonly chunkFrames: number;
  readonly features: 'kaldi' | 'whisper';
  /** Whether products with weights are quantized to 8 bits. */
  readonly int8: boolean;
  readonly seed: number;
  /** `ctc`: log-probabilities of this many tokens; `encoder`: this many values for a joiner, which the graph may leave open. */
  readonly output:
    | { readonly kind: 'ctc'; readonly size: number }
    | { readonly kind: 'encoder'; readonly size: number; readonly isOpen?: boolean };
  /**
   * `levels`: the features as they are. `loud or not`: one bit of each, so that two engines whose features differ in the
   * last digits still give a quantized graph the same numbers; where it rounds, the smallest difference can become a large
   * one.
   */
  readonly reads: 'levels' | 'loud or not';
  /**
   * `convolutions`: the exported front end with its cost. `mixing`: a dense mix of the window's frames, so that every frame
   * of a step weighs in each of its outputs.
   */
  readonly frontEnd: 'convolutions' | 'mixing';
}

/** The window is longer than the step by what the front end's convolutions and its look-ahead take. */
const WINDOW_EXTRA_FRAMES = 13;
export const BINS = 80;
/** The state of the front end. */
export const EMBED = { channels: 128, frames: 3, bins: 19 } as const;

export function windowFrames(chunkFrames: number): number {
  return chunkFrames + WINDOW_EXTRA_FRAMES;
}
