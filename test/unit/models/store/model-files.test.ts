import { describe, expect, it } from 'vitest';
import { surplusGraphs, wantedFile } from '../../../../models/store/model-files.ts';

describe('the files of an archive', () => {
  it.each([
    ['top/model.int8.onnx', 'model.int8.onnx'],
    ['./top/tokens.txt', 'tokens.txt'],
    ['tokens.txt', 'tokens.txt'],
    ['top/tiny-tokens.txt', 'tiny-tokens.txt'],
    ['../../tokens.txt', undefined],
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

  const BOTH = ['encoder.int8.onnx', 'encoder.onnx', 'decoder.int8.onnx', 'decoder.onnx', 'tokens.txt'];
  it.each([
    // The transducer's decoder is kept as float.
    ['zipformer2-transducer', BOTH, ['encoder.onnx', 'decoder.int8.onnx']],
    ['zipformer-transducer', BOTH, ['encoder.onnx', 'decoder.int8.onnx']],
    ['streaming-paraformer', BOTH, ['encoder.onnx', 'decoder.onnx']],
    ['whisper', BOTH.map((name) => `tiny-${name}`), ['tiny-encoder.onnx', 'tiny-decoder.onnx']],
    ['zipformer2-ctc', ['ctc.onnx', 'ctc.int8.onnx', 'tokens.txt'], ['ctc.onnx']],
    ['zipformer2-transducer', ['encoder.onnx', 'decoder.int8.onnx', 'tokens.txt'], []],
    ['sense-voice', ['model.int8.onnx', 'tokens.txt', 'LICENSE'], []],
  ] as const)('of %s with %j, %j are not needed', (family, names, surplus) => {
    expect(surplusGraphs(names, family)).toEqual(surplus);
  });
});
