import { quoted } from '../../../../common/errors/printable.ts';
import { ModelLoadError } from '../../../recognizer.ts';
import type { StateSpec } from '../../onnx/network-signature.ts';
import type { OnnxOutline } from '../../onnx/onnx-reader.ts';
import { checkInputs, checkRowSize, type InputSpec, type TensorSpec } from '../../onnx/tensors.ts';
import type { SearchRules } from '../../search/token-decoder.ts';
import { ByteTokens } from '../../text/byte-tokens.ts';
import type { TokenTable } from '../../text/tokens.ts';

/** Room for a recording of 15 s and two seconds behind it. A frame has 10 ms, and the encoder takes two at a time. */
const MIN_AUDIO_CONTEXT = 850;
const MAX_VALUES = 1_000_000;
const LANGUAGE = 'zh';

/**
 * In front of every text, as if it had been said before. With it, 3 of 82 recordings had traditional characters and 64 had
 * punctuation; without it, 43 and 10. The space in front belongs to it: without that space, one of 82 ran into a loop.
 */
export const PROMPT_TEXT = ' 以下是普通话的句子。';

/**
 * Below it the first token is doubtful. Measured: 66 noises and silences lie at −2.5 or lower, 82 recordings of speech at
 * −1.7 or higher. Of 110 others, one clear sentence with a rare first word was at −2.42: so one more sign is asked for.
 */
export const DOUBTFUL_FIRST = -2.2;

/** Sizes and names of a Whisper. */
export interface WhisperLayout {
  readonly melBins: number;
  /** Positions that the decoder has. */
  readonly textContext: number;
  readonly vocabularySize: number;
  /**
   * Whether each of the decoder's tensors holds all layers, as sherpa-onnx's export script writes them
   * (`scripts/whisper/export-onnx.py` there): caches with all positions, and the audio once a hypothesis. Else each layer has
   * its own (`models/bundled/convert.py`): caches that grow, and one audio for all.
   */
  readonly isStacked: boolean;
  /** What the encoder gives and the decoder takes. */
  readonly audio: readonly string[];
  /** Of the decoder, as they are when a text begins. */
  readonly caches: readonly StateSpec[];
}

/** @throws ModelLoadError when it is English only, or metadata and graphs do not agree. */
export function whisperLayout(encoder: OnnxOutline, decoder: OnnxOutline): WhisperLayout {
  const { metadata } = encoder;
  if (metadata.integer('is_multilingual', 0, 1) === 0) {
    throw new ModelLoadError(
      `${encoder.fileName}: this Whisper understands English only (metadata is_multilingual is 0), expected a multilingual one, such as whisper-base instead of whisper-base.en`,
    );
  }
  metadata.integer('n_audio_ctx', MIN_AUDIO_CONTEXT, MAX_VALUES);
  const layers = metadata.integer('n_text_layer', 1, 1000);
  const width = metadata.integer('n_text_state', 1, MAX_VALUES);
  const textContext = metadata.integer('n_text_ctx', 1, MAX_VALUES);
  const melBins = metadata.integer('n_mels', 1, 1000);
  const vocabularySize = metadata.integer('n_vocab', 1, MAX_VALUES);
  checkInputs(encoder, [{ name: 'mel', type: 'float32', shape: [1, melBins, 2 * MIN_AUDIO_CONTEXT] }]);
  const isStacked = decoder.inputs[1]?.name !== 'parents';
  const { caches, audio } = isStacked
    ? stackedTensors(layers, width, textContext)
    : layeredTensors(layers, metadata.integer('n_text_head', 1, width), width);
  const specs = caches.map(({ spec }) => spec);
  const tokens: InputSpec = { name: 'tokens', type: 'int64', shape: [1, 1] };
  const number = (name: string): InputSpec => ({ name, type: 'int64', shape: [1] });
  checkInputs(
    decoder,
    isStacked
      ? [tokens, ...specs, ...audio, number('offset')]
      : [tokens, number('parents'), ...specs, ...audio],
  );
  checkRowSize(encoder, 'n_vocab', vocabularySize, decoder);
  return { melBins, textContext, vocabularySize, isStacked, audio: audio.map(({ name }) => name), caches };
}

interface DecoderTensors {
  readonly caches: readonly StateSpec[];
  readonly audio: readonly InputSpec[];
}

function stackedTensors(layers: number, width: number, textContext: number): DecoderTensors {
  const cache = (part: string): StateSpec =>
    floatState(`in_n_layer_self_${part}_cache`, `out_n_layer_self_${part}_cache`, [
      layers,
      1,
      textContext,
      width,
    ]);
  const audio = (part: string): InputSpec =>
    floats(`n_layer_cross_${part}`, [layers, 1, MIN_AUDIO_CONTEXT, width]);
  return { caches: ['k', 'v'].map(cache), audio: ['k', 'v'].map(audio) };
}

function layeredTensors(layers: number, heads: number, width: number): DecoderTensors {
  const size = width / heads;
  const numbers = [...new Array<number>(layers).keys()];
  return {
    caches: numbers.flatMap((i) =>
      ['k', 'v'].map((part) => floatState(`self_${part}_${i}`, `out_self_${part}_${i}`, [1, heads, 0, size])),
    ),
    audio: numbers.flatMap((i) => [
      floats(`cross_k_${i}`, [1, heads, size, MIN_AUDIO_CONTEXT]),
      floats(`cross_v_${i}`, [1, heads, MIN_AUDIO_CONTEXT, size]),
    ]),
  };
}

function floats(name: string, shape: readonly number[]): TensorSpec {
  return { name, type: 'float32', shape };
}

function floatState(name: string, next: string, shape: readonly number[]): StateSpec {
  return { spec: floats(name, shape), next };
}

export interface WhisperVocabulary {
  readonly tokens: ByteTokens;
  readonly rules: SearchRules;
  /** The same with nothing said before: for a recording whose text is the prompt itself. */
  readonly rulesWithoutPrompt: SearchRules;
}

/**
 * What a text may hold, by the encoder's metadata: Chinese transcription without timestamps, whatever language the model
 * would guess.
 * @throws ModelLoadError when the metadata or `tokens.txt` lacks something.
 */
export function whisperVocabulary(
  { metadata, fileName }: OnnxOutline,
  { vocabularySize, textContext }: WhisperLayout,
  table: TokenTable,
): WhisperVocabulary {
  const id = (key: string): number => metadata.integer(key, 0, vocabularySize - 1);
  const endId = id('eot');
  const tokens = new ByteTokens(table, endId);
  const codes = (metadata.text('all_language_codes') ?? '').split(',');
  const language = metadata.integers('all_language_tokens', 0, vocabularySize - 1, codes.length)[
    codes.indexOf(LANGUAGE)
  ];
  if (language === undefined) {
    throw new ModelLoadError(
      `${fileName}: metadata all_language_codes is ${quoted(codes.slice(0, 8).join(','))}, expected ${LANGUAGE} among them`,
    );
  }
  const suppressed = new Uint8Array(vocabularySize).fill(1, endId + 1);
  for (const token of metadata.integers('non_speech_tokens', 0, vocabularySize - 1)) suppressed[token] = 1;
  const task = [id('sot'), language, id('transcribe'), id('no_timestamps')];
  const prompt = [id('sot_prev'), ...tokens.encode(PROMPT_TEXT), ...task];
  if (prompt.length >= textContext) {
    throw new ModelLoadError(
      `${fileName}: metadata n_text_ctx is ${textContext}, expected more than the ${prompt.length} tokens of the prompt`,
    );
  }
  const suppressedFirst = suppressed.slice();
  for (const token of [endId, id('blank_id')]) suppressedFirst[token] = 1;
  const rules = { prompt, endId, suppressed, suppressedFirst, doubtfulFirst: DOUBTFUL_FIRST };
  return { tokens, rules, rulesWithoutPrompt: { ...rules, prompt: task } };
}
