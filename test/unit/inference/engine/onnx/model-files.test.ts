import { mkdtempSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findModelFiles } from '../../../../../inference/engine/onnx/model-files.ts';
import { ModelLoadError } from '../../../../../inference/recognizer.ts';
import { fileFolder } from '../../../../support/machine/folders.ts';

const workDir = fileFolder();

function folder(...names: string[]): string {
  const path = mkdtempSync(join(workDir, 'model-'));
  for (const name of names) writeFileSync(join(path, name), '');
  return path;
}

/** The models of sherpa-onnx's archive of this Whisper, float32 and int8. */
function whisperArchive(name: string): string[] {
  return ['encoder', 'decoder'].flatMap((part) => ['', '.int8'].map((kind) => `${name}-${part}${kind}.onnx`));
}

describe('the files of a model folder', () => {
  test.each([
    [['model.onnx'], ['model.onnx']],
    [['model.onnx', 'model.int8.onnx', 'README.md'], ['model.int8.onnx']],
    [['model.onnx', 'model.fp16.onnx'], ['model.onnx']],
    [['model.onnx', '._model.onnx'], ['model.onnx']],
    [['model.fp16.onnx'], ['model.fp16.onnx']],
    [
      ['encoder.onnx', 'decoder.int8.onnx', 'decoder.fp16.onnx', 'joiner.onnx'],
      ['encoder.onnx', 'decoder.fp16.onnx', 'joiner.onnx'],
    ],
    [
      ['encoder', 'decoder', 'joiner'].flatMap((part) =>
        ['', '.int8', '.fp16'].map((kind) => `${part}${kind}.onnx`),
      ),
      ['encoder.int8.onnx', 'decoder.onnx', 'joiner.int8.onnx'],
    ],
    [['ctc-epoch-20-avg-1-chunk-16-left-128.int8.onnx'], ['ctc-epoch-20-avg-1-chunk-16-left-128.int8.onnx']],
    [
      ['encoder.int8.onnx', 'decoder.onnx', 'joiner.int8.onnx'],
      ['encoder.int8.onnx', 'decoder.onnx', 'joiner.int8.onnx'],
    ],
    [
      ['a', 'encoder', 'decoder', 'joiner'].flatMap((part) => [
        `${part}-epoch-20-avg-1-chunk-16-left-128.onnx`,
        `${part}-epoch-20-avg-1-chunk-16-left-128.int8.onnx`,
      ]),
      [
        'encoder-epoch-20-avg-1-chunk-16-left-128.int8.onnx',
        'decoder-epoch-20-avg-1-chunk-16-left-128.onnx',
        'joiner-epoch-20-avg-1-chunk-16-left-128.int8.onnx',
      ],
    ],
  ])('%j', async (names, chosen) => {
    const { tokens, kind, ...parts } = await findModelFiles(folder(...names, 'tokens.txt'));
    expect(basename(tokens)).toBe('tokens.txt');
    expect(Object.values(parts).map((path) => basename(path))).toEqual(chosen);
    expect(kind).toBe(chosen.length === 1 ? 'single' : 'transducer');
  });

  test.each([
    ['int8', whisperArchive('tiny'), ['tiny-encoder.int8.onnx', 'tiny-decoder.int8.onnx']],
    ['full', whisperArchive('tiny'), ['tiny-encoder.onnx', 'tiny-decoder.onnx']],
    ['int8', [...whisperArchive('base'), 'test_wavs'], ['base-encoder.int8.onnx', 'base-decoder.int8.onnx']],
    ['full', whisperArchive('small.en'), ['small.en-encoder.onnx', 'small.en-decoder.onnx']],
    ['int8', ['tiny-encoder.onnx', 'tiny-decoder.onnx'], ['tiny-encoder.onnx', 'tiny-decoder.onnx']],
    ['full', ['encoder.int8.onnx', 'decoder.int8.onnx'], ['encoder.int8.onnx', 'decoder.int8.onnx']],
  ] as const)('with %s preferred, of a Whisper: %j', async (preferred, names, chosen) => {
    const [, prefix = ''] = /^(.*)encoder/.exec(chosen[0]) ?? [];
    const path = folder(...names, `${prefix}tokens.txt`);
    const [encoder, decoder] = chosen.map((name) => join(path, name));
    const tokens = join(path, `${prefix}tokens.txt`);
    expect(await findModelFiles(path, preferred)).toEqual({
      kind: 'encoder-decoder',
      encoder,
      decoder,
      tokens,
    });
  });

  test.each([
    [[], 'found nothing, expected tokens.txt among them'],
    [['model.onnx'], 'found model.onnx, expected tokens.txt among them'],
    [['tokens.txt'], 'found nothing for *.onnx, expected exactly one'],
    [['a.onnx', 'b.onnx', 'tokens.txt'], 'found a.onnx, b.onnx for *.onnx, expected exactly one'],
    [['encoder.onnx', 'joiner.onnx', 'tokens.txt'], 'found nothing for decoder*.onnx, expected exactly one'],
    [['encoder.onnx', 'tokens.txt'], 'found nothing for decoder*.onnx, expected exactly one'],
    [['tiny-encoder.onnx', 'tiny-tokens.txt'], 'found nothing for tiny-decoder*.onnx, expected exactly one'],
    [['tiny-decoder.onnx', 'tiny-tokens.txt'], 'found nothing for tiny-encoder*.onnx, expected exactly one'],
    [
      ['tiny-encoder.onnx', 'tiny-decoder.onnx', 'tokens.txt'],
      'found tiny-decoder.onnx, tiny-encoder.onnx, tokens.txt, expected tiny-tokens.txt among them',
    ],
  ])('%j is refused', async (names, message) => {
    const path = folder(...names);
    await expect(findModelFiles(path)).rejects.toThrow(new ModelLoadError(`${path}: ${message}`));
  });

  test('a folder that is not there is refused', async () => {
    await expect(findModelFiles('/no/such/folder')).rejects.toThrow(
      /^\/no\/such\/folder: cannot be read \(ENOENT.*\), expected a folder with \*\.onnx and tokens\.txt$/,
    );
  });
});
