import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type SmallWhisper, WHISPER_VOCABULARY_SIZE, writeSmallWhisper } from '../../../../onnx/whisper.ts';
import { testFolder } from '../../../../support/folders.ts';
import { loadError } from '../broken-models.ts';

function write(options: SmallWhisper): string {
  const path = testFolder();
  writeSmallWhisper(path, options);
  return path;
}

describe('a Whisper is refused of which the metadata', () => {
  test.each([
    [
      'names no Chinese',
      { all_language_codes: 'ja,en,de,yue' },
      'metadata all_language_codes is "ja,en,de,yue", expected zh among them',
    ],
    [
      'has more languages than tokens for them',
      { all_language_codes: 'ja,zh,en,de,fr' },
      'metadata all_language_tokens has 4 values, expected 5 as in the other lists',
    ],
    [
      'names tokens that the decoder does not score',
      { sot_prev: WHISPER_VOCABULARY_SIZE },
      `metadata sot_prev is "${WHISPER_VOCABULARY_SIZE}", expected an integer from 0 to ${WHISPER_VOCABULARY_SIZE - 1}`,
    ],
    [
      'says another number of tokens than the decoder scores',
      { n_vocab: WHISPER_VOCABULARY_SIZE + 1 },
      `metadata n_vocab is ${WHISPER_VOCABULARY_SIZE + 1}, expected ${WHISPER_VOCABULARY_SIZE} as in the output of tiny-decoder.onnx`,
    ],
    [
      'says that it hears less than the longest recording',
      { n_audio_ctx: 849 },
      'metadata n_audio_ctx is "849", expected an integer from 850 to 1000000',
    ],
    [
      'says other bands than the encoder takes',
      { n_mels: 128 },
      'input "mel" is float32 ["n_audio", 80, "T"], expected float32 [1, 128, 1700]',
    ],
    [
      'says neither English-only nor multilingual',
      { is_multilingual: 'True' },
      'metadata is_multilingual is "True", expected an integer from 0 to 1',
    ],
    [
      'is that of another family',
      { model_type: 'moonshine' },
      'found model_type "moonshine" and no joiner*.onnx, expected whisper, streaming-paraformer or a transducer\'s three files',
    ],
  ])('%s', async (_what, metadata, message) => {
    expect(await loadError(write({ metadata }))).toBe(`tiny-encoder.onnx: ${message}`);
  });

  test.each([
    [{ n_text_ctx: 447 }, '[2, 1, 447, 24]'],
    [{ n_text_state: 32 }, '[2, 1, 448, 32]'],
    [{ n_text_layer: 3 }, '[3, 1, 448, 24]'],
  ])("says other sizes than the decoder's caches have: %j", async (metadata, expected) => {
    expect(await loadError(write({ metadata }))).toBe(
      `tiny-decoder.onnx: input "in_n_layer_self_k_cache" is float32 [2, "n_audio", 448, 24], expected float32 ${expected}`,
    );
  });
});

test('a Whisper is refused whose places the prompt alone takes', async () => {
  expect(await loadError(write({ textContext: 14 }))).toBe(
    'tiny-encoder.onnx: metadata n_text_ctx is 14, expected more than the 14 tokens of the prompt',
  );
});

describe('a Whisper is refused whose tokens', () => {
  test.each([
    ['end too soon', (lines: string[]) => lines.slice(0, -1), 330],
    ['leave one out', (lines: string[]) => lines.filter((_, id) => id !== 5), 5],
    ['are no base64', (lines: string[]) => lines.map((line, id) => (id === 7 ? '是 7' : line)), 7],
  ])('%s', async (_what, change, id) => {
    const path = write({});
    const tokens = join(path, 'tiny-tokens.txt');
    writeFileSync(tokens, change(readFileSync(tokens, 'utf8').trim().split('\n')).join('\n'));
    expect(await loadError(path)).toBe(
      `tiny-tokens.txt: found no base64 for id ${id}, expected ids 0 to 330 as Whisper's exports have them`,
    );
  });
});

test('a Whisper is refused whose decoder belongs to another one', async () => {
  const path = write({});
  const other = testFolder();
  const { decoder } = writeSmallWhisper(other, { textContext: 32 });
  writeFileSync(join(path, 'tiny-decoder.onnx'), readFileSync(decoder));
  expect(await loadError(path)).toBe(
    'tiny-decoder.onnx: input "in_n_layer_self_k_cache" is float32 [2, "n_audio", 32, 24], expected float32 [2, 1, 448, 24]',
  );
});
