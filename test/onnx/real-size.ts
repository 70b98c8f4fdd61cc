import type { ParaformerSizes } from './paraformer.ts';
import type { Zipformer1Sizes } from './zipformer1.ts';
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

/** The first Zipformer of `sherpa-onnx-streaming-zipformer-bilingual-zh-en-2023-02-20`: 70 M parameters. */
export const FIRST_REAL_SIZE: Zipformer1Sizes = {
  downsampling: [1, 2, 4, 8, 2],
  layers: [2, 4, 3, 2, 4],
  dims: [384, 384, 384, 384, 384],
  feedForwardDims: [1024, 1024, 2048, 2048, 1024],
  attentionDims: [192, 192, 192, 192, 192],
  heads: [8, 8, 8, 8, 8],
  kernels: [31, 31, 31, 31, 31],
  left: [64, 32, 16, 8, 32],
  channels: [8, 32, 128],
};

/** FunASR's large Paraformers, offline and streaming, and one of the size of the small offline one. */
export const PARAFORMER_SIZES = {
  '70 M': { width: 320, heads: 4, feedForwardDim: 1280, encoderLayers: 42, decoderLayers: 12 },
  '220 M': { width: 512, heads: 4, feedForwardDim: 2048, encoderLayers: 50, decoderLayers: 16 },
} as const satisfies Record<string, ParaformerSizes>;
