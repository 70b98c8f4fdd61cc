import { execFileSync } from 'node:child_process';
import { rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadModel } from '../../../../../inference/engine/families/load-model.ts';
import type { EngineModel } from '../../../../../inference/engine/recording/engine-model.ts';
import { ExecutionProviderError } from '../../../../../inference/recognizer.ts';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { CHINESE_SYMBOLS, writeTokens } from '../../../../onnx/model-folder.ts';
import { buildNemoCtc } from '../../../../onnx/nemo-ctc.ts';
import { SMALL_CTC } from '../../../../support/fixtures.ts';
import { loadError, patch, smallModel } from '../broken-models.ts';

interface NemoOddity {
  readonly length: 'int64' | 'float32';
  readonly chunk_shift: number;
}

describe('a model that cannot be used is refused with file, found and expected', () => {
  test('tokens that do not fit the output', async () => {
    const path = smallModel('zipformer2-ctc', (at) => writeTokens(at, CHINESE_SYMBOLS.slice(0, -1)));
    expect(await loadError(path)).toBe(
      'tokens.txt: found no symbol for id 44, expected ids 0 to 44 as in the output of model.onnx',
    );
  });

  test.each([
    ['tokens.txt', 'a device', (at: string) => symlinkSync('/dev/zero', at)],
    ['tokens.txt', 'a pipe', (at: string) => void execFileSync('mkfifo', [at])],
  ])('%s that is %s, which would be read without end', async (name, _kind, make) => {
    const path = smallModel('nemo-ctc', (at) => {
      rmSync(join(at, name));
      make(join(at, name));
    });
    expect(await loadError(path)).toContain(`${name}: cannot be read (not a regular file)`);
  });

  test('a tokens.txt that is no table', async () => {
    const path = smallModel('nemo-ctc', (at) => truncateSync(join(at, 'tokens.txt'), 64 * 1024 * 1024 + 1));
    expect(await loadError(path)).toContain('tokens.txt: cannot be read (67108865 bytes, over 67108864)');
  });

  test('a tokens.txt in another encoding than UTF-8', async () => {
    const path = smallModel('nemo-ctc', (at) =>
      writeFileSync(join(at, 'tokens.txt'), Buffer.from('3c626c6b3e20300ac4e320310a', 'hex')),
    );
    expect(await loadError(path)).toBe(
      'tokens.txt: found bytes that are not UTF-8, expected a line "symbol id" per token',
    );
  });

  test('a graph that the runtime cannot run', async () => {
    const path = smallModel('zipformer2-ctc', (at) => patch(join(at, 'model.onnx'), 'Softmax', 'Hardmox'));
    expect(await loadError(path)).toMatch(
      /^model\.onnx: onnxruntime with cpu says ".*Softmax.*", expected a model that loads$/,
    );
  });

  test('states that do not fit the metadata', async () => {
    const path = smallModel('zipformer2-ctc', (at) => patch(join(at, 'model.onnx'), '16,24,20', '16,24,22'));
    expect(await loadError(path)).toBe(
      'model.onnx: input "cached_nonlin_attn_3" is float32 [1, "N", 4, 15], expected float32 [1, 1, 4, 16]',
    );
  });

  test('fewer layers in the metadata than states', async () => {
    const path = smallModel('zipformer2-ctc', (at) => patch(join(at, 'model.onnx'), '1,2,1', '1,1,1'));
    expect(await loadError(path)).toBe('model.onnx: found 27 inputs, expected 21 by its family and metadata');
  });

  test('more layers in the metadata than any model has', async () => {
    const graph = new OnnxGraph();
    graph.output('y', graph.input('x', 'float32', ['N', 29, 80]), 'float32', ['N', 29, 80]);
    const encoder = { encoder_dims: [4, 4], num_encoder_layers: [1000, 1] };
    graph.metadata({ model_type: 'zipformer2', T: 29, decode_chunk_len: 16, ...encoder });
    const path = smallModel('nemo-ctc', (at) => writeFileSync(join(at, 'model.onnx'), graph.build()));
    expect(await loadError(path)).toBe(
      'model.onnx: metadata num_encoder_layers adds up to 1001, expected at most 1000',
    );
  });

  test('a cache that does not fit the metadata', async () => {
    const path = smallModel('nemo-ctc', (at) =>
      patch(join(at, 'model.onnx'), 'cache_last_time_dim3\x12\x013', 'cache_last_time_dim3\x12\x017'),
    );
    expect(await loadError(path)).toBe(
      'model.onnx: input "cache_last_time" is float32 ["N", 2, 4, 3], expected float32 [1, 2, 4, 7]',
    );
  });

  test('states for which the graph leaves every size open and the metadata asks for gigabytes', async () => {
    const graph = new OnnxGraph();
    const signal = graph.input('audio_signal', 'float32', ['N', 80, 24]);
    const length = graph.input('length', 'int64', ['N']);
    const channel = graph.input('cache_last_channel', 'float32', ['N', 'A', 'B', 'C']);
    const time = graph.input('cache_last_time', 'float32', ['N', 1, 1, 1]);
    const channelLength = graph.input('cache_last_channel_len', 'int64', ['N']);
    graph.output('logprobs', signal, 'float32', ['N', 80, 24]);
    graph.output('encoded_lengths', length, 'int64', ['N']);
    graph.output('cache_last_channel_next', channel, 'float32', ['N', 'A', 'B', 'C']);
    graph.output('cache_last_time_next', time, 'float32', ['N', 1, 1, 1]);
    graph.output('cache_last_channel_next_len', channelLength, 'int64', ['N']);
    const channelDims = {
      cache_last_channel_dim1: 1000,
      cache_last_channel_dim2: 500,
      cache_last_channel_dim3: 500,
    };
    const timeDims = { cache_last_time_dim1: 1, cache_last_time_dim2: 1, cache_last_time_dim3: 1 };
    graph.metadata({ window_size: 24, chunk_shift: 16, ...channelDims, ...timeDims });
    const path = smallModel('nemo-ctc', (at) => {
      writeFileSync(join(at, 'model.onnx'), graph.build());
      writeTokens(at, ['<blk>', ...Array.from({ length: 23 }, (_, i) => `s${i}`)]);
    });
    expect(await loadError(path)).toBe(
      'model.onnx: input and states have 250001923 values by its metadata, expected at most 67108864',
    );
  });

  test.each([
    ['that gives no new states', {}, 'found 1 outputs, expected 5: one for each of 3 states'],
    [
      'whose steps leave frames out between them',
      { chunk_shift: 25 },
      'metadata chunk_shift is "25", expected an integer from 2 to 24',
    ],
    ['of other numbers', { length: 'float32' }, 'input "length" is float32 ["N"], expected int64 [1]'],
  ] as const)('a graph %s', async (_what, { length = 'int64', ...sizes }: Partial<NemoOddity>, message) => {
    const graph = new OnnxGraph();
    const signal = graph.input('audio_signal', 'float32', ['N', 80, 24]);
    graph.input('length', length, ['N']);
    for (const name of ['channel', 'time']) graph.input(`cache_last_${name}`, 'float32', ['N', 1, 1, 1]);
    graph.input('cache_last_channel_len', 'int64', ['N']);
    graph.output('logprobs', signal, 'float32', ['N', 80, 24]);
    const dims = [1, 2, 3].flatMap((n) => [`cache_last_channel_dim${n}`, `cache_last_time_dim${n}`]);
    const ones = Object.fromEntries(dims.map((key) => [key, 1]));
    graph.metadata({ window_size: 24, chunk_shift: 16, ...ones, ...sizes });
    const path = smallModel('nemo-ctc', (at) => writeFileSync(join(at, 'model.onnx'), graph.build()));
    expect(await loadError(path)).toBe(`model.onnx: ${message}`);
  });

  test('another family', async () => {
    const path = smallModel('zipformer2-ctc', (at) =>
      patch(join(at, 'model.onnx'), 'model_type\x12\x0azipformer2', 'model_type\x12\x0azipformerX'),
    );
    expect(await loadError(path)).toBe(
      'model.onnx: found model_type "zipformerX" and inputs "x", "cached_key_0", "cached_nonlin_attn_0", expected a streaming zipformer2 or NeMo CTC model, or SenseVoice',
    );
  });

  test('a CTC model that leaves open how many tokens it scores', async () => {
    const bytes = buildNemoCtc({
      windowFrames: 24,
      shiftFrames: 16,
      vocabularySize: 45,
      seed: 1,
      isOpen: true,
    });
    const path = smallModel('nemo-ctc', (at) => writeFileSync(join(at, 'model.onnx'), bytes));
    expect(await loadError(path)).toBe(
      'model.onnx: the last dimension of output "logprobs" is open, expected the number of tokens',
    );
  });
});

describe('execution providers', () => {
  test('asked for by name are not blamed for a model that does not load anywhere', async () => {
    const path = smallModel('zipformer2-ctc', (at) => patch(join(at, 'model.onnx'), 'Softmax', 'Hardmox'));
    expect(await loadError(path, ['cuda', 'cpu'])).toMatch(
      /^model\.onnx: onnxruntime with .* says ".*Softmax.*", expected a model that loads$/,
    );
  });

  test('asked for by name and not to be had are no fault of the model', async () => {
    // Loads on a machine with CUDA and its libraries installed, and nowhere else.
    const load = loadModel(SMALL_CTC, {
      providers: ['cuda', 'cpu'],
      threads: 1,
      log: () => {},
    });
    const outcome = await load.catch((cause: unknown) => cause);
    if (!(outcome instanceof Error)) {
      const model = outcome as EngineModel;
      onTestFinished(() => model.release());
      return expect(model.info.provider).toBe('cuda');
    }
    expect(outcome).toBeInstanceOf(ExecutionProviderError);
    expect(outcome.message).toMatch(
      /^ASR_EXECUTION_PROVIDERS="cuda,cpu": cuda does not load on this machine \(.+\); run npm run gpu:install .+, or write auto or cpu$/,
    );
  });
});
