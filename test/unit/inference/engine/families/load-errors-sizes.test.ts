import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { loadError, patch, smallModel } from '../broken-models.ts';

/** A metadata entry's key, the tag of its value, and the value's length in front of it. */
function entry(key: string, value: string): string {
  return `${key}\x12${String.fromCharCode(value.length)}${value}`;
}

describe('metadata that asks for sizes that no model has is refused', () => {
  test.each([
    ['zipformer2-ctc', 'T', '29', '00', 'an integer from 1 to 3000'],
    ['zipformer2-ctc', 'decode_chunk_len', '16', '01', 'an integer from 2 to 29'],
    ['zipformer2-ctc', 'encoder_dims', '16,24,20', '03,24,20', 'an integer from 4 to 1000000'],
    ['zipformer2-ctc', 'num_encoder_layers', '1,2,1', '0,2,1', 'an integer from 1 to 1000'],
    ['zipformer2-ctc', 'num_heads', '2,3,2', '2,-,2', 'an integer from 1 to 1000000'],
    ['nemo-ctc', 'window_size', '24', '-1', 'an integer from 1 to 3000'],
    ['nemo-ctc', 'cache_last_time_dim3', '3', '0', 'an integer from 1 to 1000000'],
  ] as const)('of a %s: %s', async (family, key, good, bad, expected) => {
    const path = smallModel(family, (at) => patch(join(at, 'model.onnx'), entry(key, good), entry(key, bad)));
    const found = bad.split(',').find((part, i) => part !== good.split(',')[i]);
    expect(await loadError(path)).toBe(`model.onnx: metadata ${key} is "${found}", expected ${expected}`);
  });

  test('and lists of another number of layers than the model has stacks', async () => {
    const path = smallModel('zipformer2-ctc', (at) => patch(join(at, 'model.onnx'), '1,2,1', '1,211'));
    expect(await loadError(path)).toBe(
      'model.onnx: metadata num_encoder_layers has 2 values, expected 3 as in the other lists',
    );
  });
});

test('a NeMo model that hears whole recordings only is none of the families', async () => {
  const graph = new OnnxGraph();
  const signal = graph.input('audio_signal', 'float32', ['N', 80, 'T']);
  graph.input('length', 'int64', ['N']);
  graph.output('logprobs', signal, 'float32', ['N', 80, 'T']);
  const path = smallModel('nemo-ctc', (at) => writeFileSync(join(at, 'model.onnx'), graph.build()));
  expect(await loadError(path)).toBe(
    'model.onnx: found model_type (none) and inputs "audio_signal", "length", expected a streaming zipformer2 or NeMo CTC model, or SenseVoice',
  );
});

describe('a NeMo model is refused whose inputs', () => {
  const folderWith = (
    ...inputs: [name: string, type: 'float32' | 'int64', shape: (string | number)[]][]
  ): string => {
    const graph = new OnnxGraph();
    for (const input of inputs) graph.input(...input);
    for (const name of ['channel', 'time']) graph.input(`cache_last_${name}`, 'float32', ['N', 1, 1, 1]);
    graph.output('logprobs', graph.input('cache_last_channel_len', 'int64', ['N']), 'int64', ['N']);
    const keys = [1, 2, 3].flatMap((n) => [`cache_last_channel_dim${n}`, `cache_last_time_dim${n}`]);
    const ones = Object.fromEntries(keys.map((key) => [key, 1]));
    graph.metadata({ window_size: 24, chunk_shift: 16, ...ones });
    return smallModel('nemo-ctc', (at) => writeFileSync(join(at, 'model.onnx'), graph.build()));
  };

  test.each([
    [1, '"N"'],
    [8, '"N", "N", "N", "N", "N", "N", "N", "N"'],
    [9, '"N", "N", "N", "N", "N", "N", "N", "N" and 1 more'],
  ])('have %i dimensions', async (rank, shown) => {
    const shape = new Array<string>(rank).fill('N');
    const path = folderWith(['audio_signal', 'float32', shape], ['length', 'int64', ['N']]);
    expect(await loadError(path)).toBe(
      `model.onnx: input "audio_signal" is float32 [${shown}], expected float32 [1, 80, 24]`,
    );
  });

  test('come in another order', async () => {
    const path = folderWith(['length', 'int64', ['N']], ['audio_signal', 'float32', ['N', 80, 24]]);
    expect(await loadError(path)).toBe('model.onnx: input 0 is "length", expected "audio_signal"');
  });
});
