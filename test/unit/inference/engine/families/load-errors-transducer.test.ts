import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeEchoModel } from '../../../../onnx/echo.ts';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { CHINESE_SYMBOLS, writeSmallModel, writeTokens } from '../../../../onnx/model-folder.ts';
import { testFolder } from '../../../../support/folders.ts';
import { loadError, patch, SMALL, smallModel } from '../broken-models.ts';

describe('a transducer that cannot be used is refused with file, found and expected', () => {
  test('a transducer of another family', async () => {
    const path = smallModel('zipformer2-transducer', (at) =>
      patch(join(at, 'encoder.onnx'), 'model_type\x12\x0azipformer2', 'model_type\x12\x0azipformer1'),
    );
    expect(await loadError(path)).toBe('encoder.onnx: found model_type "zipformer1", expected zipformer2');
  });

  test("a transducer's parts that do not belong together", async () => {
    const other = smallModel('nemo-ctc');
    mkdirSync(join(other, 'x'));
    writeSmallModel(join(other, 'x'), {
      ...SMALL,
      family: 'zipformer2-transducer',
      symbols: [...CHINESE_SYMBOLS, '余'],
    });
    const path = smallModel('zipformer2-transducer', (at) =>
      writeFileSync(join(at, 'joiner.onnx'), readFileSync(join(other, 'x', 'joiner.onnx'))),
    );
    expect(await loadError(path)).toBe(
      'decoder.onnx: metadata vocab_size is 45, expected 46 as in the output of joiner.onnx',
    );
  });

  test.each([
    [
      'context_size\x12\x012',
      'context_size\x12\x010',
      'context_size is "0", expected an integer from 1 to 16',
    ],
    [
      'vocab_size\x12\x0245',
      'vocab_size\x12\x02-1',
      'vocab_size is "-1", expected an integer from 1 to 1000000',
    ],
  ])('a decoder that asks for what no search could have: %j', async (from, to, message) => {
    const path = smallModel('zipformer2-transducer', (at) => patch(join(at, 'decoder.onnx'), from, to));
    expect(await loadError(path)).toBe(`decoder.onnx: metadata ${message}`);
  });

  test('tokens that do not fit the scores', async () => {
    const path = smallModel('zipformer2-transducer', (at) => writeTokens(at, CHINESE_SYMBOLS.slice(0, -1)));
    expect(await loadError(path)).toBe(
      'tokens.txt: found no symbol for id 44, expected ids 0 to 44 as in the output of joiner.onnx',
    );
  });

  test('a decoder that sees another number of tokens than it says', async () => {
    const path = smallModel('zipformer2-transducer', (at) =>
      patch(join(at, 'decoder.onnx'), 'context_size\x12\x012', 'context_size\x12\x013'),
    );
    expect(await loadError(path)).toBe('decoder.onnx: input "y" is int64 ["N", 2], expected int64 [1, 3]');
  });

  test.each([
    ['encoder_out', 3, 2],
    ['decoder_out', 2, 3],
  ])('a joiner that takes frames of another size than %s gives', async (name, heardDim, saidDim) => {
    const path = testFolder();
    writeEchoModel(path, 'zipformer2-transducer', 16);
    const graph = new OnnxGraph();
    graph.input('encoder_out', 'float32', ['N', heardDim]);
    const said = graph.input('decoder_out', 'float32', ['N', saidDim]);
    const two = [said, graph.ints([0]), graph.ints([2]), graph.ints([1])];
    graph.output('logit', graph.op('Slice', two), 'float32', ['N', 2]);
    writeFileSync(join(path, 'joiner.onnx'), graph.build());
    expect(await loadError(path)).toBe(
      `joiner.onnx: input "${name}" is float32 ["N", 3], expected float32 [1, 2]`,
    );
  });

  test('a joiner that gives another number of scores than the decoder says, told by no graph', async () => {
    const open = { ...SMALL, family: 'zipformer2-transducer', openSizes: true } as const;
    const path = testFolder();
    const other = testFolder();
    writeSmallModel(path, open);
    writeSmallModel(other, { ...open, symbols: [...CHINESE_SYMBOLS, '余'] });
    writeFileSync(join(path, 'joiner.onnx'), readFileSync(join(other, 'joiner.onnx')));
    expect(await loadError(path)).toBe(
      `${path}: a run on silence failed (joiner.onnx: the run gave 46 scores, expected 45), expected a model that runs`,
    );
  });

  test.each([
    ['D', '"D"'],
    ['', '?'],
    [-1, '?'],
  ])(
    'a transducer of which the joiner says "%s" for the size of a frame, and the encoder nothing',
    async (dim, shown) => {
      const path = testFolder();
      writeEchoModel(path, 'zipformer2-transducer', 16, 'D');
      const graph = new OnnxGraph();
      const heard = graph.input('encoder_out', 'float32', ['N', dim]);
      const said = graph.input('decoder_out', 'float32', ['N', dim]);
      graph.output('logit', graph.op('Add', [heard, said]), 'float32', ['N', 'V']);
      writeFileSync(join(path, 'joiner.onnx'), graph.build());
      expect(await loadError(path)).toBe(
        `joiner.onnx: input "encoder_out" has last dimension ${shown}, expected a number from 1`,
      );
    },
  );

  test('a transducer of frames without values, which a search would step through without end', async () => {
    const path = testFolder();
    const write = (encoderDim: number | string, joinerDim: number | string): void => {
      writeEchoModel(path, 'zipformer2-transducer', 16, encoderDim);
      const graph = new OnnxGraph();
      graph.input('encoder_out', 'float32', ['N', joinerDim]);
      graph.output('logit', graph.input('decoder_out', 'float32', ['N', 2]), 'float32', ['N', 2]);
      writeFileSync(join(path, 'joiner.onnx'), graph.build());
    };
    write(0, 'D');
    expect(await loadError(path)).toBe(
      'encoder.onnx: output "encoder_out" has last dimension 0, expected at least 1',
    );
    write('D', 0);
    expect(await loadError(path)).toBe(
      'joiner.onnx: input "encoder_out" has last dimension 0, expected a number from 1',
    );
  });
});
