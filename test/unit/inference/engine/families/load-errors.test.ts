import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type LoadedModel, loadModel } from '../../../../../inference/engine/families/load-model.ts';
import { ExecutionProviderError } from '../../../../../inference/recognizer.ts';
import { writeEchoModel } from '../../../../onnx/echo.ts';
import { OnnxGraph, type Shape } from '../../../../onnx/graph.ts';
import { CHINESE_SYMBOLS, writeSmallModel, writeTokens } from '../../../../onnx/model-folder.ts';
import { Zipformer2Shell } from '../../../../onnx/zipformer2-shell.ts';
import { SMALL_CTC } from '../../../../support/fixtures.ts';
import { testFolder } from '../../../../support/folders.ts';
import { loadError, patch, SMALL, smallModel } from '../broken-models.ts';

type Change = (folder: string) => void;

/** A metadata entry's key, the tag of its value, and the value's length in front of it. */
const entry = (key: string, value: string): string =>
  `${key}\x12${String.fromCharCode(value.length)}${value}`;
const metadata =
  (file: string, key: string, from: string, to: string): Change =>
  (folder) =>
    patch(join(folder, file), entry(key, from), entry(key, to));
const graphOf =
  (file: string, write: (graph: OnnxGraph) => void): Change =>
  (folder) => {
    const graph = new OnnxGraph();
    write(graph);
    writeFileSync(join(folder, file), graph.build());
  };
const tooFewTokens: Change = (folder) => writeTokens(folder, CHINESE_SYMBOLS.slice(0, -1));
const insteadOfTokens =
  (make: Change): Change =>
  (folder) => {
    rmSync(join(folder, 'tokens.txt'));
    make(folder);
  };

describe('a CTC model is refused with file, found and expected:', () => {
  const model = (key: string, from: string, to: string): Change => metadata('model.onnx', key, from, to);
  const inputs = (...shapes: [name: string, shape: Shape][]): Change =>
    graphOf('model.onnx', (graph) => {
      for (const [name, shape] of shapes) graph.input(name, 'float32', shape);
      graph.output('y', graph.float(1), 'float32', []);
      const sizes = ['encoder_dims', 'query_head_dims', 'value_head_dims', 'num_heads', 'left_context_len'];
      const ones = Object.fromEntries(sizes.map((key) => [key, 4]));
      const layers = { num_encoder_layers: 1, cnn_module_kernels: 3 };
      graph.metadata({ model_type: 'zipformer2', T: 29, decode_chunk_len: 16, ...layers, ...ones });
    });

  test.each<[what: string, change: Change, message: string | RegExp]>([
    [
      'tokens that do not fit the output',
      tooFewTokens,
      'tokens.txt: found no symbol for id 44, expected ids 0 to 44 as in the output of model.onnx',
    ],
    [
      'tokens in a device, which would be read without end',
      insteadOfTokens((folder) => symlinkSync('/dev/zero', join(folder, 'tokens.txt'))),
      /tokens\.txt: cannot be read \(not a regular file\)/,
    ],
    [
      'tokens in a pipe',
      insteadOfTokens((folder) => void execFileSync('mkfifo', [join(folder, 'tokens.txt')])),
      /tokens\.txt: cannot be read \(not a regular file\)/,
    ],
    [
      'tokens that are no table',
      (folder) => truncateSync(join(folder, 'tokens.txt'), 64 * 1024 * 1024 + 1),
      /tokens\.txt: cannot be read \(67108865 bytes, over 67108864\)/,
    ],
    [
      'tokens in another encoding than UTF-8',
      (folder) => writeFileSync(join(folder, 'tokens.txt'), Buffer.from('3c626c6b3e20300ac4e320310a', 'hex')),
      'tokens.txt: found bytes that are not UTF-8, expected a line "symbol id" per token',
    ],
    [
      'a graph that the runtime cannot run',
      (folder) => patch(join(folder, 'model.onnx'), 'Softmax', 'Hardmox'),
      /^model\.onnx: onnxruntime with cpu says ".*Softmax.*", expected a model that loads$/,
    ],
    [
      'states that do not fit the metadata',
      model('encoder_dims', '16,24,20', '16,24,22'),
      'model.onnx: input "cached_nonlin_attn_3" is float32 [1, "N", 4, 15], expected float32 [1, 1, 4, 16]',
    ],
    [
      'fewer layers in the metadata than states',
      model('num_encoder_layers', '1,2,1', '1,1,1'),
      'model.onnx: found 27 inputs, expected 21 by its family and metadata',
    ],
    [
      'more layers in the metadata than any model has',
      model('num_encoder_layers', '1,2,1', '1,999'),
      'model.onnx: metadata num_encoder_layers has 2 values, expected 3 as in the other lists',
    ],
    [
      'a window that no model has',
      model('T', '29', '00'),
      'model.onnx: metadata T is "00", expected an integer from 1 to 3000',
    ],
    [
      'steps that move by less than a frame of the result',
      model('decode_chunk_len', '16', '01'),
      'model.onnx: metadata decode_chunk_len is "01", expected an integer from 2 to 29',
    ],
    [
      'steps that leave frames out between them',
      model('decode_chunk_len', '16', '30'),
      'model.onnx: metadata decode_chunk_len is "30", expected an integer from 2 to 29',
    ],
    [
      'a size that is no number',
      model('num_heads', '2,3,2', '2,-,2'),
      'model.onnx: metadata num_heads is "-", expected an integer from 1 to 1000000',
    ],
    [
      'an input of nine dimensions',
      inputs(['x', new Array<string>(9).fill('N')], ...new Array(8).fill(['s', []])),
      'model.onnx: input "x" is float32 ["N", "N", "N", "N", "N", "N", "N", "N" and 1 more], expected float32 [1, 29, 80]',
    ],
    [
      'no new states',
      graphOf('model.onnx', (graph) => {
        const shell = new Zipformer2Shell(graph, 16);
        graph.output('log_probs', shell.x, 'float32', ['N', 29, 80]);
        shell.metadata();
      }),
      'model.onnx: found 1 outputs, expected 9: one for each of 8 states',
    ],
    [
      'states of gigabytes, for which the graph leaves every size open',
      graphOf('model.onnx', (graph) => {
        const shell = new Zipformer2Shell(graph, 16, 1, true);
        for (let output = 0; output < 9; output++) graph.output(`y${output}`, shell.x, 'float32', ['N']);
        shell.metadata({ left_context_len: 1_000_000, value_head_dims: 100 });
      }),
      'model.onnx: input and states have 204009625 values by its metadata, expected at most 67108864',
    ],
    [
      'another family',
      model('model_type', 'zipformer2', 'zipformerX'),
      'model.onnx: found model_type "zipformerX" and inputs "x", "cached_key_0", "cached_nonlin_attn_0", expected zipformer2-ctc, offline-zipformer-ctc, sense-voice or paraformer',
    ],
    [
      'a family that is gone',
      graphOf('model.onnx', (graph) => {
        for (const name of ['audio_signal', 'length', 'cache_last_channel', 'cache_last_time'])
          graph.input(name, 'float32', ['N']);
        graph.output('logprobs', 'length', 'float32', ['N']);
      }),
      'model.onnx: found a NeMo model, which is not supported any more since November 2026; npm run models -- list shows other models',
    ],
    [
      'scores of an open number of tokens',
      graphOf('model.onnx', (graph) => {
        const shell = new Zipformer2Shell(graph, 16);
        const value = graph.withOpenShape(shell.x, 'processed_lens');
        shell.declare({ name: 'log_probs', value, shape: ['N', 'T', 'V'] });
      }),
      'model.onnx: the last dimension of output "log_probs" is open, expected the number of tokens',
    ],
  ])('%s', async (_what, change, message) => {
    expectMessage(await loadError(smallModel('zipformer2-ctc', change)), message);
  });
});

describe('a transducer is refused with file, found and expected:', () => {
  const decoder = (key: string, from: string, to: string): Change => metadata('decoder.onnx', key, from, to);
  const withOneMoreToken = (folder: string, openSizes: boolean): Buffer => {
    const other = testFolder();
    const symbols = [...CHINESE_SYMBOLS, '余'];
    writeSmallModel(other, { ...SMALL, family: 'zipformer2-transducer', symbols, openSizes });
    if (openSizes) writeSmallModel(folder, { ...SMALL, family: 'zipformer2-transducer', openSizes });
    return readFileSync(join(other, 'joiner.onnx'));
  };
  /** An echo whose joiner takes frames of these sizes. */
  const joiner =
    (encoderDim: Shape[number] | undefined, heard: Shape[number], said: Shape[number]): Change =>
    (folder) => {
      writeEchoModel(folder, 'zipformer2-transducer', 16, encoderDim);
      graphOf('joiner.onnx', (graph) => {
        graph.input('encoder_out', 'float32', ['N', heard]);
        const y = graph.input('decoder_out', 'float32', ['N', said]);
        const two = [y, graph.ints([0]), graph.ints([2]), graph.ints([1])];
        graph.output('logit', graph.op('Slice', two), 'float32', ['N', 2]);
      })(folder);
    };

  test.each<[what: string, change: Change, message: string | RegExp]>([
    [
      'an encoder of another family',
      metadata('encoder.onnx', 'model_type', 'zipformer2', 'zipformer1'),
      'encoder.onnx: found model_type "zipformer1", expected zipformer2-transducer or zipformer-transducer',
    ],
    [
      'parts that do not belong together',
      (folder) => writeFileSync(join(folder, 'joiner.onnx'), withOneMoreToken(folder, false)),
      'decoder.onnx: metadata vocab_size is 45, expected 46 as in the output of joiner.onnx',
    ],
    [
      'parts that do not belong together, told by no graph',
      (folder) => writeFileSync(join(folder, 'joiner.onnx'), withOneMoreToken(folder, true)),
      /a run on silence failed \(joiner\.onnx: the run gave 46 scores, expected 45\), expected a model that runs$/,
    ],
    [
      'a decoder that looks back at nothing',
      decoder('context_size', '2', '0'),
      'decoder.onnx: metadata context_size is "0", expected an integer from 1 to 16',
    ],
    [
      'a decoder that sees another number of tokens than it says',
      decoder('context_size', '2', '3'),
      'decoder.onnx: input "y" is int64 ["N", 2], expected int64 [1, 3]',
    ],
    [
      'a decoder of less than no tokens',
      decoder('vocab_size', '45', '-1'),
      'decoder.onnx: metadata vocab_size is "-1", expected an integer from 1 to 1000000',
    ],
    [
      'tokens that do not fit the scores',
      tooFewTokens,
      'tokens.txt: found no symbol for id 44, expected ids 0 to 44 as in the output of joiner.onnx',
    ],
    [
      "a joiner that takes larger frames than the encoder's",
      joiner(undefined, 3, 2),
      'joiner.onnx: input "encoder_out" is float32 ["N", 3], expected float32 [1, 2]',
    ],
    [
      "a joiner that takes larger frames than the decoder's",
      joiner(undefined, 2, 3),
      'joiner.onnx: input "decoder_out" is float32 ["N", 3], expected float32 [1, 2]',
    ],
    [
      'frames of a size that no graph tells',
      joiner('D', 'D', 'D'),
      'joiner.onnx: input "encoder_out" has last dimension "D", expected a number from 1',
    ],
    [
      'frames without values, which a search would step through without end',
      joiner(0, 'D', 2),
      'encoder.onnx: output "encoder_out" has last dimension 0, expected at least 1',
    ],
  ])('%s', async (_what, change, message) => {
    expectMessage(await loadError(smallModel('zipformer2-transducer', change)), message);
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
    const load = loadModel(SMALL_CTC, { providers: ['cuda', 'cpu'], threads: 1, log: () => {} });
    const outcome = await load.catch((cause: unknown) => cause);
    if (!(outcome instanceof Error)) {
      const { info, release } = outcome as LoadedModel;
      onTestFinished(release);
      return expect(info.provider).toBe('cuda');
    }
    expect(outcome).toBeInstanceOf(ExecutionProviderError);
    expect(outcome.message).toMatch(
      /^ASR_EXECUTION_PROVIDERS="cuda,cpu": cuda does not load on this machine \(.+\); run npm run gpu:install .+, or write auto or cpu$/,
    );
  });
});

/** @param expected the whole message, or a pattern in it */
function expectMessage(found: string, expected: string | RegExp): void {
  if (typeof expected === 'string') expect(found).toBe(expected);
  else expect(found).toMatch(expected);
}
