import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReferenceModel, TransducerFamily, TransducerFiles } from './reference-engine.ts';
import { buildDecoder, buildJoiner, type TransducerHeadOptions } from './transducer.ts';
import { buildZipformer1, type Zipformer1Options, type Zipformer1Sizes } from './zipformer1.ts';
import { buildZipformer2 } from './zipformer2.ts';
import type { Zipformer2Options, Zipformer2Sizes } from './zipformer2-options.ts';

/** A model small enough to be made and run in every test run. */
export interface SmallModel {
  readonly family: 'zipformer2-ctc' | TransducerFamily;
  /** The first Zipformer's are `kaldi`. */
  readonly features: 'kaldi' | 'whisper';
  readonly int8: boolean;
  readonly chunkFrames: number;
  readonly symbols: readonly string[];
  readonly seed: number;
  /** Whether the graphs of a Zipformer2 transducer leave open how many values they give. */
  readonly openSizes?: boolean;
}

export const SMALL_SIZES: Zipformer2Sizes = {
  downsampling: [1, 2, 4],
  layers: [1, 2, 1],
  dims: [16, 24, 20],
  feedForwardDims: [16, 24, 16],
  queryHeadDims: [4, 3, 4],
  valueHeadDims: [3, 2, 3],
  heads: [2, 3, 2],
  kernels: [7, 5, 5],
  left: [8, 6, 4],
};

const SMALL_FIRST_SIZES: Zipformer1Sizes = {
  downsampling: [1, 2, 4],
  layers: [1, 2, 1],
  dims: [16, 24, 20],
  feedForwardDims: [16, 24, 16],
  attentionDims: [8, 12, 8],
  heads: [2, 3, 2],
  kernels: [7, 5, 3],
  left: [16, 8, 4],
  channels: [2, 3, 4],
};

const SMALL_JOINER_DIM = 32;

/** Writes the files of a small model. @returns what the reference engine needs to know of them. */
export function writeSmallModel(folder: string, options: SmallModel): ReferenceModel {
  const { family, features, int8, chunkFrames, symbols, seed, openSizes = false } = options;
  if (family === 'zipformer-transducer') {
    const encoder = { sizes: SMALL_FIRST_SIZES, chunkFrames, int8, seed };
    return writeZipformer1(folder, encoder, symbols, SMALL_JOINER_DIM);
  }
  const reads = int8 ? 'loud or not' : 'levels';
  const encoder = {
    sizes: SMALL_SIZES,
    chunkFrames,
    features,
    int8,
    seed,
    reads,
    frontEnd: 'mixing',
  } as const;
  return writeZipformer2(folder, family, encoder, symbols, SMALL_JOINER_DIM, openSizes);
}

/** Writes the files of a Zipformer2 with these outputs. @returns what the reference engine needs to know of them. */
export function writeZipformer2(
  folder: string,
  family: 'zipformer2-ctc' | 'zipformer2-transducer',
  encoder: Omit<Zipformer2Options, 'output'>,
  symbols: readonly string[],
  joinerDim: number,
  openSizes = false,
): ReferenceModel {
  writeTokens(folder, symbols);
  const suffix = encoder.int8 ? '.int8.onnx' : '.onnx';
  switch (family) {
    case 'zipformer2-ctc': {
      const output = { kind: 'ctc', size: symbols.length } as const;
      return {
        family,
        model: write(folder, `model${suffix}`, buildZipformer2({ ...encoder, output }).model),
      };
    }
    case 'zipformer2-transducer': {
      const output = { kind: 'encoder', size: joinerDim, isOpen: openSizes } as const;
      const head = { int8: encoder.int8, seed: encoder.seed, dim: joinerDim, openSizes };
      const { model } = buildZipformer2({ ...encoder, output });
      return { family, ...writeTransducer(folder, model, symbols, head) };
    }
    default:
      return family satisfies never;
  }
}

/** Writes the files of a first Zipformer. @returns what the reference engine needs to know of them. */
export function writeZipformer1(
  folder: string,
  encoder: Omit<Zipformer1Options, 'joinerDim'>,
  symbols: readonly string[],
  joinerDim: number,
): ReferenceModel {
  writeTokens(folder, symbols);
  const { int8, seed } = encoder;
  const { model } = buildZipformer1({ ...encoder, joinerDim });
  return {
    family: 'zipformer-transducer',
    ...writeTransducer(folder, model, symbols, { int8, seed, dim: joinerDim }),
  };
}

function writeTransducer(
  folder: string,
  encoder: Uint8Array,
  symbols: readonly string[],
  options: Pick<TransducerHeadOptions, 'int8' | 'seed' | 'dim' | 'openSizes'>,
): TransducerFiles {
  const head = { ...options, vocabularySize: symbols.length, contextSize: 2, blankBias: 3 };
  const suffix = head.int8 ? '.int8.onnx' : '.onnx';
  return {
    encoder: write(folder, `encoder${suffix}`, encoder),
    decoder: write(folder, 'decoder.onnx', buildDecoder(head)),
    joiner: write(folder, `joiner${suffix}`, buildJoiner(head)),
  };
}

/** The files of the model that is loaded soonest, for processes that must recognize something, whatever it is. */
export function writeQuickModel(folder: string): void {
  const options = {
    features: 'kaldi',
    int8: false,
    chunkFrames: 32,
    symbols: CHINESE_SYMBOLS,
    seed: 5,
  } as const;
  writeSmallModel(folder, { ...options, family: 'zipformer2-ctc' });
}

export function writeTokens(folder: string, symbols: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tokens.txt'), symbols.map((symbol, id) => `${symbol} ${id}\n`).join(''));
}

function write(folder: string, name: string, bytes: Uint8Array): string {
  writeFileSync(join(folder, name), bytes);
  return name;
}

/** Special symbols, then Chinese characters, words and punctuation. */
export const CHINESE_SYMBOLS: readonly string[] = [
  '<blk>',
  '<sos/eos>',
  '<unk>',
  ...'一二三四五六七八九十天地人你我他好是不在有这中大来上国个到说们为子和',
  ...['▁THE', '▁A', 'ING', 'S', '，', '。', '？', "'"],
];

/**
 * With byte fallback: the bytes from 0x80 on have symbols of their own, at the ids where such vocabularies have them (byte + 3).
 * The ids of the bytes below are Chinese characters here: sherpa-onnx writes control characters into its JSON as they are.
 */
export const HIGH_BYTE_SYMBOLS: readonly string[] = [
  '<blk>',
  '<sos/eos>',
  '<unk>',
  ...Array.from({ length: 0x80 }, (_, i) => String.fromCodePoint(0x4e00 + i)),
  ...Array.from({ length: 0x80 }, (_, i) => `<0x${(0x80 + i).toString(16).toUpperCase()}>`),
  ...['▁THE', 'ING'],
];

/** Byte-level BPE of icefall: the printable characters that stand for the bytes 0 to 255, in this order. */
const BYTE_CHARACTERS: readonly string[] = (
  [
    [0x100, 0x11f],
    [0x20, 0x7e],
    [0x120, 0x131],
    [0x134, 0x13e],
    [0x141, 0x148],
    [0x14a, 0x17e],
    [0x180, 0x1a6],
  ] as const
).flatMap(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i)),
);

function inByteCharacters(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => BYTE_CHARACTERS[byte]).join('');
}

/** With byte-level BPE: the characters and words above, each with a space in front and without. */
export const BYTE_BPE_SYMBOLS: readonly string[] = [
  ...CHINESE_SYMBOLS.slice(0, 3),
  ...CHINESE_SYMBOLS.slice(3)
    .filter((symbol) => !symbol.startsWith('▁'))
    .flatMap((symbol) => [inByteCharacters(symbol), `▁${inByteCharacters(symbol)}`]),
];
