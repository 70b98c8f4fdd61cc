import type { Zipformer2Sizes } from './zipformer2-options.ts';

/** The sizes of icefall's published streaming Zipformers, by their millions of parameters. */
export const REAL_SIZES = {
  '25 M': {
    downsampling: [1, 2, 4, 8, 4, 2],
    layers: [2, 2, 2, 2, 2, 2],
    dims: [192, 256, 256, 256, 256, 256],
    feedForwardDims: [512, 768, 768, 768, 768, 768],
    queryHeadDims: [32, 32, 32, 32, 32, 32],
    valueHeadDims: [12, 12, 12, 12, 12, 12],
    heads: [4, 4, 4, 8, 4, 4],
    kernels: [31, 31, 15, 15, 15, 31],
    left: [128, 64, 32, 16, 32, 64],
  },
  '66 M': {
    downsampling: [1, 2, 4, 8, 4, 2],
    layers: [2, 2, 3, 4, 3, 2],
    dims: [192, 256, 384, 512, 384, 256],
    feedForwardDims: [512, 768, 1024, 1536, 1024, 768],
    queryHeadDims: [32, 32, 32, 32, 32, 32],
    valueHeadDims: [12, 12, 12, 12, 12, 12],
    heads: [4, 4, 4, 8, 4, 4],
    kernels: [31, 31, 15, 15, 15, 31],
    left: [128, 64, 32, 16, 32, 64],
  },
} as const satisfies Record<string, Zipformer2Sizes>;

export type RealSize = keyof typeof REAL_SIZES;
