import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { writeTokens } from '../../../../onnx/model-folder.ts';
import { testFolder } from '../../../../support/folders.ts';
import { loadError, patch } from '../broken-models.ts';
import { SENSE_VOICE_DIR } from '../sense-voice-pair.ts';

const ROW_VALUES = 560;
const METADATA = {
  model_type: 'sense_voice_ctc',
  lfr_window_size: 7,
  lfr_window_shift: 6,
  normalize_samples: 0,
  neg_mean: new Array<number>(ROW_VALUES).fill(-8.5),
  inv_stddev: new Array<number>(ROW_VALUES).fill(0.15),
  lang_zh: 3,
  with_itn: 14,
  vocab_size: 3,
} as const;
type Metadata = Record<string, string | number | readonly number[]>;

interface Oddity {
  readonly metadata?: Metadata;
  readonly without?: keyof typeof METADATA;
  readonly rowValues?: number;
  readonly xLength?: 'int32' | 'int64';
  readonly outputSize?: number;
}

/** The interface of a SenseVoice of three tokens, and no weights. */
function folderWith({ metadata = {}, without, rowValues, xLength, outputSize = 3 }: Oddity): string {
  const graph = new OnnxGraph();
  const x = graph.input('x', 'float32', ['N', 'T', rowValues ?? ROW_VALUES]);
  graph.input('x_length', xLength ?? 'int32', ['N']);
  for (const name of ['language', 'text_norm']) graph.input(name, 'int32', ['N']);
  graph.output('logits', x, 'float32', ['N', 'T', outputSize]);
  const all: Metadata = { ...METADATA, ...metadata };
  if (without !== undefined) delete all[without];
  graph.metadata(all);
  const folder = testFolder();
  writeTokens(folder, ['<unk>', '<s>', '</s>']);
  writeFileSync(join(folder, 'model.onnx'), graph.build());
  return folder;
}

const integer = (min: number, max: number): string => `an integer from ${min} to ${max}`;

describe('a SenseVoice is refused', () => {
  test.each([
    ['lfr_window_size', integer(1, 3000)],
    ['lfr_window_shift', integer(1, 7)],
    ['normalize_samples', integer(0, 1)],
    ['neg_mean', '560 numbers'],
    ['inv_stddev', '560 numbers'],
    ['lang_zh', integer(0, 1_000_000)],
    ['with_itn', integer(0, 1_000_000)],
    ['vocab_size', integer(1, 1_000_000)],
  ] as const)('without metadata %s', async (key, expected) => {
    expect(await loadError(folderWith({ without: key }))).toBe(
      `model.onnx: found no metadata ${key}, expected ${expected}`,
    );
  });

  const means = METADATA.neg_mean.join(',');
  test.each([
    ['lfr_window_shift', '8', 'is "8"', integer(1, 7)],
    ['normalize_samples', 'yes', 'is "yes"', integer(0, 1)],
    ['blank_id', '3', 'is "3"', integer(0, 2)],
    ['neg_mean', `${means},1`, 'has 561 values', '560 numbers'],
    ['neg_mean', means.replace('-8.5', ' '), 'has the value " "', '560 numbers'],
    ['inv_stddev', means.replace('-8.5', 'nan'), 'has the value "nan"', '560 numbers'],
    ['inv_stddev', means.replace('-8.5', '1e999'), 'has the value "1e999"', '560 numbers'],
  ])('whose metadata %s is %.10s', async (key, value, found, expected) => {
    expect(await loadError(folderWith({ metadata: { [key]: value } }))).toBe(
      `model.onnx: metadata ${key} ${found}, expected ${expected}`,
    );
  });

  test.each([
    [
      'whose rows are not as wide as the metadata says',
      { rowValues: 80 },
      'input "x" is float32 ["N", "T", 80], expected float32 [1, 1, 560]',
    ],
    [
      'of another type of number',
      { xLength: 'int64' },
      'input "x_length" is int64 ["N"], expected int32 [1]',
    ],
    [
      'that gives scores for another number of tokens',
      { outputSize: 560 },
      'metadata vocab_size is 3, expected 560 as in its output',
    ],
    [
      'that is another model in its format',
      { metadata: { comment: 'FunASR/Some-Nano-2512' } },
      'found another model in SenseVoice\'s format (metadata comment is "FunASR/Some-Nano-2512"), expected SenseVoice itself, such as sherpa-onnx-sense-voice-zh-en-ja-ko-yue-int8-2024-07-17',
    ],
  ] as const)('%s', async (_what, oddity: Oddity, message) => {
    expect(await loadError(folderWith(oddity))).toBe(`model.onnx: ${message}`);
  });

  test('whose tokens are fewer than its scores', async () => {
    const folder = folderWith({});
    writeTokens(folder, ['<unk>', '<s>']);
    expect(await loadError(folder)).toBe(
      'tokens.txt: found no symbol for id 2, expected ids 0 to 2 as in the output of model.onnx',
    );
  });

  test('whose metadata names a row that its graph does not have', async () => {
    const folder = testFolder();
    for (const name of ['model.onnx', 'tokens.txt'])
      copyFileSync(join(SENSE_VOICE_DIR, name), join(folder, name));
    patch(join(folder, 'model.onnx'), 'with_itn\x12\x0214', 'with_itn\x12\x0299');
    expect(await loadError(folder)).toMatch(
      /a run on silence failed \(model\.onnx: .*99.*\), expected a model that runs$/,
    );
  });
});
