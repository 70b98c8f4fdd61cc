import { describe, expect, it } from 'vitest';
import { ModelFailure } from '../../../models/failure.ts';
import { surplusGraphs, wantedFile } from '../../../models/model-files.ts';

describe('the files of an archive', () => {
  it.each([
    ['top/model.int8.onnx', 'model.int8.onnx'],
    ['./top/tokens.txt', 'tokens.txt'],
    ['tokens.txt', 'tokens.txt'],
    ['top/tiny-tokens.txt', 'tiny-tokens.txt'],
    ['top/LICENSE', 'LICENSE'],
    ['top/Licence.txt', 'Licence.txt'],
    ['top/README.md', 'README.md'],
    ['top/bpe.model', undefined],
    ['top/._model.onnx', undefined],
    ['top/test_wavs/tokens.txt', undefined],
    ['top/', undefined],
    ['top/export.onnx.sh', undefined],
    ['top/tokens.txt.bak', undefined],
  ])('%s → %s', (path, name) => {
    expect(wantedFile(path)).toBe(name);
  });

  it.each([
    '../tokens.txt',
    'top/../../tokens.txt',
    'top/..',
    '/etc/passwd',
    'C:/tokens.txt',
    'top\\..\\tokens.txt',
    'top/tokens.txt\0.wav',
  ])('refuses the path %j', (path) => {
    expect(() => wantedFile(path)).toThrow(ModelFailure);
    expect(() => wantedFile(path)).toThrow(/leads out of its folder/);
  });

  it('keeps int8 encoders and joiners, and the decoder as float', () => {
    const both = [
      'encoder.int8.onnx',
      'encoder.onnx',
      'decoder.int8.onnx',
      'decoder.onnx',
      'joiner.int8.onnx',
      'joiner.onnx',
      'tokens.txt',
    ];
    expect(surplusGraphs(both, 'zipformer2-transducer')).toEqual([
      'encoder.onnx',
      'decoder.int8.onnx',
      'joiner.onnx',
    ]);
    expect(surplusGraphs(['ctc.onnx', 'ctc.int8.onnx', 'tokens.txt'], 'zipformer2-ctc')).toEqual([
      'ctc.onnx',
    ]);
  });

  it('keeps both graphs of Whisper as int8', () => {
    const graphs = ['encoder.onnx', 'encoder.int8.onnx', 'decoder.onnx', 'decoder.int8.onnx'];
    expect(surplusGraphs([...graphs.map((name) => `tiny-${name}`), 'tiny-tokens.txt'], 'whisper')).toEqual([
      'tiny-encoder.onnx',
      'tiny-decoder.onnx',
    ]);
  });

  it('takes an archive as it is when it has one precision', () => {
    expect(
      surplusGraphs(
        ['encoder.onnx', 'decoder.int8.onnx', 'joiner.onnx', 'tokens.txt'],
        'zipformer2-transducer',
      ),
    ).toEqual([]);
    expect(surplusGraphs(['model.onnx', 'tokens.txt', 'README.md'], 'zipformer2-ctc')).toEqual([]);
    expect(surplusGraphs(['model.int8.onnx', 'tokens.txt', 'LICENSE'], 'sense-voice')).toEqual([]);
  });

  it.each([
    [['encoder.onnx', 'decoder.onnx', 'tokens.txt'], 'zipformer2-transducer'],
    [['encoder.onnx', 'decoder.onnx', 'joiner.onnx'], 'zipformer2-transducer'],
    [
      ['encoder-a.onnx', 'encoder-b.onnx', 'decoder.onnx', 'joiner.onnx', 'tokens.txt'],
      'zipformer2-transducer',
    ],
    [['a.onnx', 'b.onnx', 'tokens.txt'], 'zipformer2-ctc'],
    [['tiny-encoder.onnx', 'tiny-tokens.txt'], 'whisper'],
    [['tiny-encoder.onnx', 'base-encoder.onnx', 'tiny-tokens.txt'], 'whisper'],
    [['tiny-encoder.onnx', 'tiny-decoder.onnx', 'tiny-tokens.txt', 'base-tokens.txt'], 'whisper'],
    [['encoder.onnx', 'decoder.onnx', 'tokens.txt'], 'sense-voice'],
    [[], 'zipformer2-ctc'],
  ] as const)('refuses %j as %s and says what it found', (names, family) => {
    expect(() => surplusGraphs(names, family)).toThrow(ModelFailure);
    expect(() => surplusGraphs(names, family)).toThrow(
      names.length === 0 ? 'found no such file' : `found ${names.join(', ')}`,
    );
  });
});
