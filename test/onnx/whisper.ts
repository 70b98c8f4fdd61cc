import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OnnxGraph } from './graph.ts';
import {
  buildWhisperDecoder,
  buildWhisperEncoder,
  type WhisperGraphOptions,
  type WhisperSizes,
} from './whisper-graphs.ts';

export interface SmallWhisper {
  /** `tiny` for `tiny-encoder.onnx`, as sherpa-onnx's archives have it. */
  readonly name?: string;
  readonly melBins?: 80 | 128;
  readonly layout?: WhisperGraphOptions['layout'];
  readonly int8?: boolean;
  readonly isMultilingual?: boolean;
  readonly textContext?: number;
  /** In place of what the metadata would say. */
  readonly metadata?: Metadata;
}

type Metadata = Parameters<OnnxGraph['metadata']>[0];

/** Paths. */
export interface WhisperFiles {
  readonly encoder: string;
  readonly decoder: string;
  readonly tokens: string;
}

/** With it, texts are neither all the same nor one token again and again, and some come to an end. */
const SEED = 1;

/** Characters with a token each. */
const CHARACTERS = [
  ...'以下是普通话的句子。，一二三四五六七八九十天地人你我他好不在有这中大来上国个到说们为和',
];

/**
 * By id: the bytes, in any order; the first two bytes of characters and whole characters; and one of no
 * bytes, as OpenAI's table ends.
 */
const TOKENS: readonly Uint8Array[] = [
  ...Array.from({ length: 256 }, (_, i) => Uint8Array.of((i + 33) % 256)),
  ...new Map(
    CHARACTERS.map((character) => bytesOf(character, 2)).map((bytes) => [bytes.join(), bytes]),
  ).values(),
  ...CHARACTERS.map((character) => bytesOf(character, 3)),
  ...[' 中', '中国', '我们', '普通', '普通话'].map((text) => new TextEncoder().encode(text)),
  new Uint8Array(0),
];
const FIRST_CHARACTER = TOKENS.findIndex(({ length }) => length === 3);

/** Behind the tokens of text. */
const COMMANDS = [
  ...['eot', 'sot', 'en', 'zh', 'de', 'ja', 'translate', 'transcribe'],
  ...['sot_lm', 'sot_prev', 'no_speech', 'no_timestamps', '0.00', '0.02', '0.04'],
];
/** The export writes them in the order of a set. */
const LANGUAGES = ['ja', 'zh', 'en', 'de'];

function commandId(name: string): number {
  return TOKENS.length + COMMANDS.indexOf(name);
}

export const WHISPER_VOCABULARY_SIZE = TOKENS.length + COMMANDS.length;

/** Writes a Whisper of random weights, by default in the form of sherpa-onnx's export (`scripts/whisper/export-onnx.py` there). */
export function writeSmallWhisper(folder: string, options: SmallWhisper = {}): WhisperFiles {
  const { name = 'tiny', melBins = 80, layout = 'stacked', int8 = false, textContext = 448 } = options;
  const sizes: WhisperSizes = {
    melBins,
    width: 24,
    heads: 2,
    layers: 2,
    audioContext: 1500,
    textContext,
    vocabularySize: WHISPER_VOCABULARY_SIZE,
  };
  const graphs = { sizes, layout, int8, seed: SEED };
  const suffix = int8 ? '.int8.onnx' : '.onnx';
  const files = {
    encoder: join(folder, `${name}-encoder${suffix}`),
    decoder: join(folder, `${name}-decoder${suffix}`),
    tokens: join(folder, `${name}-tokens.txt`),
  };
  mkdirSync(folder, { recursive: true });
  const metadata = { ...metadataOf(name, options.isMultilingual ?? true, sizes), ...options.metadata };
  writeFileSync(files.encoder, buildWhisperEncoder(graphs, metadata));
  writeFileSync(files.decoder, buildWhisperDecoder(graphs, bias()));
  writeFileSync(files.tokens, tokenLines(TOKENS));
  return files;
}

/** A line `base64 id` a token, as OpenAI's own table has them: no bytes are `=`. */
export function tokenLines(tokens: readonly Uint8Array[]): string {
  return tokens.map((bytes, id) => `${Buffer.from(bytes).toString('base64') || '='} ${id}\n`).join('');
}

/**
 * Whole characters are likelier than parts of them, and the end comes now and then. Control characters never do: sherpa-onnx
 * writes them into its JSON as they are.
 */
function bias(): Float32Array {
  return Float32Array.from({ length: WHISPER_VOCABULARY_SIZE }, (_, id) => {
    const [byte = 0x20] = TOKENS[id] ?? [];
    if (id === commandId('eot')) return 4;
    if (id > commandId('eot') || byte < 0x20) return -100;
    return id < FIRST_CHARACTER ? -5 : 0;
  });
}

function metadataOf(name: string, isMultilingual: boolean, sizes: WhisperSizes): Metadata {
  const sot = commandId('sot');
  return {
    model_type: `whisper-${name}`,
    version: 1,
    maintainer: 'test/onnx',
    n_mels: sizes.melBins,
    n_audio_ctx: sizes.audioContext,
    n_audio_state: sizes.width,
    n_audio_head: sizes.heads,
    n_audio_layer: sizes.layers,
    n_vocab: sizes.vocabularySize,
    n_text_ctx: sizes.textContext,
    n_text_state: sizes.width,
    n_text_head: sizes.heads,
    n_text_layer: sizes.layers,
    sot_sequence: isMultilingual ? [sot, commandId('en'), commandId('transcribe')] : [sot],
    all_language_tokens: LANGUAGES.map(commandId),
    all_language_codes: LANGUAGES.join(','),
    sot,
    sot_index: 0,
    eot: commandId('eot'),
    blank_id: TOKENS.findIndex((bytes) => bytes[0] === 0x20),
    is_multilingual: isMultilingual ? 1 : 0,
    no_speech: commandId('no_speech'),
    non_speech_tokens: ['"', '(', '[', '♪'].map((text) =>
      TOKENS.findIndex((bytes) => bytes[0] === bytesOf(text, 1)[0]),
    ),
    transcribe: commandId('transcribe'),
    translate: commandId('translate'),
    sot_prev: commandId('sot_prev'),
    sot_lm: commandId('sot_lm'),
    no_timestamps: commandId('no_timestamps'),
  };
}

function bytesOf(text: string, count: number): Uint8Array {
  return new TextEncoder().encode(text).subarray(0, count);
}
