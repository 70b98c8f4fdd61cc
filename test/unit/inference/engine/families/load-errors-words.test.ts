import { mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { loadError, smallModel } from '../broken-models.ts';

const ONE_OF_EACH = {
  query_head_dims: 1,
  value_head_dims: 1,
  num_heads: 1,
  cnn_module_kernels: 3,
  left_context_len: 1,
};

describe('what a refusal shows of a model steers no terminal and forges no line', () => {
  test.each([
    ['a line and a colour of their own', {}, 'zip\nformer\u001b[31m', 'x\nforged line', 'N'],
    ['a million characters', {}, 'z'.repeat(900_000), 'x'.repeat(900_000), 'N'],
    [
      'such words in shapes',
      { T: 29, decode_chunk_len: 16, encoder_dims: 4, num_encoder_layers: 1, ...ONE_OF_EACH },
      'zipformer2',
      'x\u009b2J\u202e\u2028\u2029\nforged line',
      '\u001b[31m'.repeat(10_000),
    ],
  ])('words from the file that are %s', async (_what, sizes, type, name, dimension) => {
    const graph = new OnnxGraph();
    const x = graph.input(name, 'float32', [dimension, 80]);
    for (let i = 0; i < 8; i++) graph.input(`state ${i}`, 'float32', ['N']);
    graph.output('y', x, 'float32', [dimension, 80]);
    graph.metadata({ model_type: type, ...sizes });
    const path = smallModel('zipformer2-ctc', (at) => writeFileSync(join(at, 'model.onnx'), graph.build()));
    const message = await loadError(path);
    expect(message).toContain('"x');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
    expect(message.length).toBeLessThan(400);
  });

  test('an operator that has a colour of its own, in what the runtime says', async () => {
    const graph = new OnnxGraph();
    const heard = graph.input('encoder_out', 'float32', ['N', 32]);
    graph.output('logit', graph.op('No\u001b[31mSuch', [heard]), 'float32', ['N', 45]);
    const path = smallModel('zipformer2-transducer', (at) =>
      writeFileSync(join(at, 'joiner.onnx'), graph.build()),
    );
    const message = await loadError(path);
    expect(message).toContain('No\ufffd[31mSuch');
    expect(message).not.toContain('\u001b');
  });

  test.each(['\u001b[31mred.onnx', 'model\u009b2J\u202e.onnx', 'line\nforged line.onnx'])(
    'files whose own names steer a terminal: %j',
    async (name) => {
      const path = smallModel('zipformer2-ctc', (at) => renameSync(join(at, 'model.onnx'), join(at, name)));
      truncateSync(join(path, name), 1000);
      const truncated = await loadError(path);
      writeFileSync(join(path, 'other.onnx'), '');
      const oneOfTwo = await loadError(path);
      rmSync(join(path, 'other.onnx'));
      rmSync(join(path, name));
      mkdirSync(join(path, name));
      const folderOfThatName = await loadError(path);
      for (const message of [truncated, oneOfTwo, folderOfThatName]) {
        expect(message).toContain('\\u{');
        expect(message).not.toMatch(/[\p{Cc}\u202e]/u);
      }
    },
  );
});
