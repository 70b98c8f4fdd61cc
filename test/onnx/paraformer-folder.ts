import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeTokens } from './model-folder.ts';
import {
  buildParaformer,
  buildStreamingDecoder,
  buildStreamingEncoder,
  type ParaformerOptions,
  type ParaformerSizes,
} from './paraformer.ts';
import type { ReferenceModel } from './reference-engine.ts';

/** Special symbols, pieces of Latin words, whole ones, and Chinese characters. */
export const PARAFORMER_SYMBOLS: readonly string[] = [
  ...['<blank>', '<s>', '</s>'],
  ...['wo@@', 'he@@', 're@@', 'ld', 'llo', 'er', 'hello', 'ok', 'a', 'b'],
  ...'一二三四五六七八九十天地人你我他好是不在有这中大来上国个到说们为子和',
  '<unk>',
];
const [BLANK, START, END, UNKNOWN] = [0, 1, 2, PARAFORMER_SYMBOLS.length - 1] as const;
const NEVER = -100;

const SMALL_SIZES: ParaformerSizes = {
  width: 32,
  heads: 2,
  feedForwardDim: 48,
  encoderLayers: 2,
  decoderLayers: 3,
};

export interface SmallParaformer {
  readonly int8?: boolean;
  readonly symbols?: readonly string[];
}

/**
 * The symbols that sherpa-onnx would write as words are never said. A streaming one says `<blank>`, which is
 * no word, now and then.
 */
function optionsOf(bias: ParaformerOptions['bias'], { int8 = false }: SmallParaformer): ParaformerOptions {
  const size = { sizes: SMALL_SIZES, vocabularySize: PARAFORMER_SYMBOLS.length };
  return { ...size, bias: { [START]: NEVER, [UNKNOWN]: NEVER, ...bias }, int8, seed: 4 };
}

/** Writes the files of a small streaming Paraformer. */
export function writeSmallStreamingParaformer(folder: string, small: SmallParaformer = {}): ReferenceModel {
  const options = optionsOf({ [BLANK]: 7, [END]: NEVER }, small);
  return writeStreamingParaformer(folder, options, small.symbols ?? PARAFORMER_SYMBOLS);
}

/** Writes a streaming Paraformer's files. @returns what the reference engine needs to know of them. */
export function writeStreamingParaformer(
  folder: string,
  options: ParaformerOptions,
  symbols: readonly string[],
): ReferenceModel {
  writeTokens(folder, symbols);
  const suffix = options.int8 ? '.int8.onnx' : '.onnx';
  const [encoder, decoder] = [`encoder${suffix}`, `decoder${suffix}`];
  writeFileSync(join(folder, encoder), buildStreamingEncoder(options).model);
  writeFileSync(join(folder, decoder), buildStreamingDecoder(options).model);
  return { family: 'streaming-paraformer', encoder, decoder };
}

/** Writes the files of a small offline Paraformer, some of whose texts end early. @returns the name of its graph. */
export function writeSmallParaformer(folder: string, small: SmallParaformer = {}): string {
  const options = optionsOf({ [BLANK]: NEVER, [END]: 1 }, small);
  return writeParaformer(folder, options, small.symbols ?? PARAFORMER_SYMBOLS);
}

export function writeParaformer(
  folder: string,
  options: ParaformerOptions,
  symbols: readonly string[],
): string {
  writeTokens(folder, symbols);
  const name = options.int8 ? 'model.int8.onnx' : 'model.onnx';
  writeFileSync(join(folder, name), buildParaformer(options).model);
  return name;
}
