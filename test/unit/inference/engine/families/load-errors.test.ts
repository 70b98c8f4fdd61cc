import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type LoadedModel, loadModel } from '../../../../../inference/engine/families/load-model.ts';
import { ExecutionProviderError } from '../../../../../inference/recognizer.ts';
import { writeEchoModel } from '../../../../onnx/echo.ts';
import { OnnxGraph, type Shape } from '../../../../onnx/graph.ts';
import {
  CHINESE_SYMBOLS,
  type SmallModel,
  writeSmallModel,
  writeTokens,
} from '../../../../onnx/model-folder.ts';
import { type SmallWhisper, WHISPER_VOCABULARY_SIZE, writeSmallWhisper } from '../../../../onnx/whisper.ts';
import { Zipformer2Shell } from '../../../../onnx/zipformer2-shell.ts';
import { SMALL_CTC } from '../../../../support/audio/fixtures.ts';
import { testFolder } from '../../../../support/machine/folders.ts';
import { loadError, patch, refusals, SMALL, smallModel } from '../broken-models.ts';
import { SENSE_VOICE_DIR } from '../sense-voice-pair.ts';
import {
  type Oddity,
  offlineCtc,
  paraformer,
  senseVoice,
  streamingParaformer,
  TOKENS,
} from './odd-models.ts';

type Change = (folder: string) => void;

/** A metadata entry's key, the tag of its value, and the value's length in front of it. */
const entry = (key: string, value: string): string =>
  `${key}\x12${String.fromCharCode(value.length)}${value}`;

/** The same model with something wrong. */
class Model {
  readonly #family: SmallModel['family'];
  readonly #file: string;

  constructor(family: SmallModel['family'], file: string) {
    this.#family = family;
    this.#file = file;
  }

  with(change: Change): string {
    return smallModel(this.#family, change);
  }

  /** @param to of the same length as `from`. */
  patched(from: string, to: string, file = this.#file): string {
    return this.with((folder) => patch(join(folder, file), from, to));
  }

  metadata(key: string, from: string, to: string, file = this.#file): string {
    return this.patched(entry(key, from), entry(key, to), file);
  }

  /** With another graph in the place of one. */
  graph(write: (graph: OnnxGraph) => void, file = this.#file): string {
    return this.with((folder) => {
      const graph = new OnnxGraph();
      write(graph);
      writeFileSync(join(folder, file), graph.build());
    });
  }

  tokens(write: (path: string) => void): string {
    return this.with((folder) => {
      rmSync(join(folder, 'tokens.txt'));
      write(join(folder, 'tokens.txt'));
    });
  }
}

const CTC = new Model('zipformer2-ctc', 'model.onnx');
const TRANSDUCER = new Model('zipformer2-transducer', 'decoder.onnx');
const FIRST = new Model('zipformer-transducer', 'encoder.onnx');
const tooFewTokens: Change = (folder) => writeTokens(folder, CHINESE_SYMBOLS.slice(0, -1));
/** A folder without each key of the metadata, by the key. */
const without = (model: (odd: Oddity) => string, ...keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(keys.map((key) => [`no ${key}`, model({ without: key })]));

test('a CTC model is refused with file, found and expected', async () => {
  const inputs = (...shapes: [name: string, shape: Shape][]): string =>
    CTC.graph((graph) => {
      for (const [name, shape] of shapes) graph.input(name, 'float32', shape);
      graph.output('y', graph.float(1), 'float32', []);
      const sizes = ['encoder_dims', 'query_head_dims', 'value_head_dims', 'num_heads', 'left_context_len'];
      const ones = Object.fromEntries(sizes.map((key) => [key, 4]));
      const layers = { num_encoder_layers: 1, cnn_module_kernels: 3 };
      graph.metadata({ model_type: 'zipformer2', T: 29, decode_chunk_len: 16, ...layers, ...ones });
    });
  const folders = {
    'tokens that do not fit the output': CTC.with(tooFewTokens),
    'tokens in a device, which would be read without end': CTC.tokens((path) =>
      symlinkSync('/dev/zero', path),
    ),
    'tokens in a pipe': CTC.tokens((path) => void execFileSync('mkfifo', [path])),
    'tokens that are no table': CTC.with((folder) =>
      truncateSync(join(folder, 'tokens.txt'), 64 * 1024 * 1024 + 1),
    ),
    'tokens in another encoding than UTF-8': CTC.tokens((path) =>
      writeFileSync(path, Buffer.from('3c626c6b3e20300ac4e320310a', 'hex')),
    ),
    'states that do not fit the metadata': CTC.metadata('encoder_dims', '16,24,20', '16,24,22'),
    'fewer layers in the metadata than states': CTC.metadata('num_encoder_layers', '1,2,1', '1,1,1'),
    'more layers in the metadata than any model has': CTC.metadata('num_encoder_layers', '1,2,1', '1,999'),
    'a window that no model has': CTC.metadata('T', '29', '00'),
    'steps that move by less than a frame of the result': CTC.metadata('decode_chunk_len', '16', '01'),
    'steps that leave frames out between them': CTC.metadata('decode_chunk_len', '16', '30'),
    'a size that is no number': CTC.metadata('num_heads', '2,3,2', '2,-,2'),
    'an input of nine dimensions': inputs(
      ['x', new Array<string>(9).fill('N')],
      ...new Array(8).fill(['s', []]),
    ),
    'no new states': CTC.graph((graph) => {
      const shell = new Zipformer2Shell(graph, 16);
      graph.output('log_probs', shell.x, 'float32', ['N', 29, 80]);
      shell.metadata();
    }),
    'states of gigabytes, for which the graph leaves every size open': CTC.graph((graph) => {
      const shell = new Zipformer2Shell(graph, 16, 1, true);
      for (let output = 0; output < 9; output++) graph.output(`y${output}`, shell.x, 'float32', ['N']);
      shell.metadata({ left_context_len: 1_000_000, value_head_dims: 100 });
    }),
    'another family': CTC.metadata('model_type', 'zipformer2', 'zipformerX'),
    'a family that is gone': CTC.graph((graph) => {
      for (const name of ['audio_signal', 'length', 'cache_last_channel', 'cache_last_time'])
        graph.input(name, 'float32', ['N']);
      graph.output('logprobs', 'length', 'float32', ['N']);
    }),
    'scores of an open number of tokens': CTC.graph((graph) => {
      const shell = new Zipformer2Shell(graph, 16);
      const value = graph.withOpenShape(shell.x, 'processed_lens');
      shell.declare({ name: 'log_probs', value, shape: ['N', 'T', 'V'] });
    }),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "a family that is gone": "model.onnx: found a NeMo model, which is not supported any more since November 2026; npm run models -- list shows other models",
      "a size that is no number": "model.onnx: metadata num_heads is "-", expected an integer from 1 to 1000000",
      "a window that no model has": "model.onnx: metadata T is "00", expected an integer from 1 to 3000",
      "an input of nine dimensions": "model.onnx: input "x" is float32 ["N", "N", "N", "N", "N", "N", "N", "N" and 1 more], expected float32 [1, 29, 80]",
      "another family": "model.onnx: found model_type "zipformerX" and inputs "x", "cached_key_0", "cached_nonlin_attn_0", expected zipformer2-ctc, offline-zipformer-ctc, sense-voice or paraformer",
      "fewer layers in the metadata than states": "model.onnx: found 27 inputs, expected 21 by its family and metadata",
      "more layers in the metadata than any model has": "model.onnx: metadata num_encoder_layers has 2 values, expected 3 as in the other lists",
      "no new states": "model.onnx: found 1 outputs, expected 9: one for each of 8 states",
      "scores of an open number of tokens": "model.onnx: the last dimension of output "log_probs" is open, expected the number of tokens",
      "states of gigabytes, for which the graph leaves every size open": "model.onnx: input and states have 204009625 values by its metadata, expected at most 67108864",
      "states that do not fit the metadata": "model.onnx: input "cached_nonlin_attn_3" is float32 [1, "N", 4, 15], expected float32 [1, 1, 4, 16]",
      "steps that leave frames out between them": "model.onnx: metadata decode_chunk_len is "30", expected an integer from 2 to 29",
      "steps that move by less than a frame of the result": "model.onnx: metadata decode_chunk_len is "01", expected an integer from 2 to 29",
      "tokens in a device, which would be read without end": "FOLDER/tokens.txt: cannot be read (not a regular file), expected a line "symbol id" per token",
      "tokens in a pipe": "FOLDER/tokens.txt: cannot be read (not a regular file), expected a line "symbol id" per token",
      "tokens in another encoding than UTF-8": "tokens.txt: found bytes that are not UTF-8, expected a line "symbol id" per token",
      "tokens that are no table": "FOLDER/tokens.txt: cannot be read (67108865 bytes, over 67108864), expected a line "symbol id" per token",
      "tokens that do not fit the output": "tokens.txt: found no symbol for id 44, expected ids 0 to 44 as in the output of model.onnx",
    }
  `);
});

test('a transducer is refused with file, found and expected', async () => {
  const withOneMoreToken = (openSizes: boolean): string =>
    TRANSDUCER.with((folder) => {
      const other = testFolder();
      const family = 'zipformer2-transducer';
      writeSmallModel(other, { ...SMALL, family, symbols: [...CHINESE_SYMBOLS, '余'], openSizes });
      if (openSizes) writeSmallModel(folder, { ...SMALL, family, openSizes });
      copyFileSync(join(other, 'joiner.onnx'), join(folder, 'joiner.onnx'));
    });
  /** An echo whose joiner takes frames of these sizes. */
  const joiner = (encoderDim: Shape[number] | undefined, heard: Shape[number], said: Shape[number]): string =>
    TRANSDUCER.with((folder) => {
      writeEchoModel(folder, 'zipformer2-transducer', 16, encoderDim);
      const graph = new OnnxGraph();
      graph.input('encoder_out', 'float32', ['N', heard]);
      const y = graph.input('decoder_out', 'float32', ['N', said]);
      const two = [y, graph.ints([0]), graph.ints([2]), graph.ints([1])];
      graph.output('logit', graph.op('Slice', two), 'float32', ['N', 2]);
      writeFileSync(join(folder, 'joiner.onnx'), graph.build());
    });
  const folders = {
    'an encoder of another family': TRANSDUCER.metadata(
      ...(['model_type', 'zipformer2', 'zipformer1', 'encoder.onnx'] as const),
    ),
    'parts that do not belong together': withOneMoreToken(false),
    'parts that do not belong together, told by no graph': withOneMoreToken(true),
    'a decoder that looks back at nothing': TRANSDUCER.metadata('context_size', '2', '0'),
    'a decoder that sees another number of tokens than it says': TRANSDUCER.metadata(
      'context_size',
      '2',
      '3',
    ),
    'a decoder of less than no tokens': TRANSDUCER.metadata('vocab_size', '45', '-1'),
    'tokens that do not fit the scores': TRANSDUCER.with(tooFewTokens),
    "a joiner that takes larger frames than the encoder's": joiner(undefined, 3, 2),
    "a joiner that takes larger frames than the decoder's": joiner(undefined, 2, 3),
    'frames of a size that no graph tells': joiner('D', 'D', 'D'),
    'frames without values, which a search would step through without end': joiner(0, 'D', 2),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "a decoder of less than no tokens": "decoder.onnx: metadata vocab_size is "-1", expected an integer from 1 to 1000000",
      "a decoder that looks back at nothing": "decoder.onnx: metadata context_size is "0", expected an integer from 1 to 16",
      "a decoder that sees another number of tokens than it says": "decoder.onnx: input "y" is int64 ["N", 2], expected int64 [1, 3]",
      "a joiner that takes larger frames than the decoder's": "joiner.onnx: input "decoder_out" is float32 ["N", 3], expected float32 [1, 2]",
      "a joiner that takes larger frames than the encoder's": "joiner.onnx: input "encoder_out" is float32 ["N", 3], expected float32 [1, 2]",
      "an encoder of another family": "encoder.onnx: found model_type "zipformer1", expected zipformer2-transducer or zipformer-transducer",
      "frames of a size that no graph tells": "joiner.onnx: input "encoder_out" has last dimension "D", expected a number from 1",
      "frames without values, which a search would step through without end": "encoder.onnx: output "encoder_out" has last dimension 0, expected at least 1",
      "parts that do not belong together": "decoder.onnx: metadata vocab_size is 45, expected 46 as in the output of joiner.onnx",
      "parts that do not belong together, told by no graph": "FOLDER: a run on silence failed (joiner.onnx: the run gave 46 scores, expected 45), expected a model that runs",
      "tokens that do not fit the scores": "tokens.txt: found no symbol for id 44, expected ids 0 to 44 as in the output of joiner.onnx",
    }
  `);
});

test('a first Zipformer is refused', async () => {
  const sizes = { encoder_dims: 4, attention_dims: 4, cnn_module_kernels: 3, left_context_len: 4 };
  const folders = {
    'without the size of its attention': FIRST.patched('attention_dims', 'attention_size'),
    'that remembers fewer frames than its metadata says': FIRST.patched('16,8,4', '16,8,5'),
    'that counts frames in another type': FIRST.graph((graph) => {
      graph.input('x', 'float32', ['N', 39, 80]);
      for (const kind of ['len', 'avg', 'key', 'val', 'val2', 'conv1', 'conv2'])
        graph.input(`cached_${kind}_0`, 'float32', [1, 'N']);
      graph.output('encoder_out', 'x', 'float32', ['N']);
      graph.metadata({
        model_type: 'zipformer',
        T: 39,
        decode_chunk_len: 32,
        num_encoder_layers: 1,
        ...sizes,
      });
    }),
    'of no type': FIRST.patched('model_type\x12\x09zipformer', 'model_typf\x12\x09zipformer'),
    'without its joiner': FIRST.with((folder) => rmSync(join(folder, 'joiner.onnx'))),
    'whose encoder stands alone': FIRST.with((folder) => {
      for (const name of ['decoder.onnx', 'joiner.onnx']) rmSync(join(folder, name));
      renameSync(join(folder, 'encoder.onnx'), join(folder, 'model.onnx'));
    }),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "of no type": "encoder.onnx: found model_type (none), expected zipformer2-transducer or zipformer-transducer",
      "that counts frames in another type": "encoder.onnx: input "cached_len_0" is float32 [1, "N"], expected int64 [1, 1]",
      "that remembers fewer frames than its metadata says": "encoder.onnx: input "cached_key_2" is float32 [1, 4, "N", 8], expected float32 [1, 5, 1, 8]",
      "whose encoder stands alone": "model.onnx: found model_type "zipformer" and inputs "x", "cached_len_0", "cached_len_1", expected zipformer2-ctc, offline-zipformer-ctc, sense-voice or paraformer",
      "without its joiner": "encoder.onnx: found model_type "zipformer" and no joiner*.onnx, expected whisper, streaming-paraformer or a transducer's three files",
      "without the size of its attention": "encoder.onnx: found no metadata attention_dims, expected 3 integers from 1 to 1000000",
    }
  `);
});

test('an offline CTC model is refused', async () => {
  const folders = {
    'that takes other features': offlineCtc({ rowValues: 40 }),
    'of another type of number': offlineCtc({ lengths: 'int32' }),
    'that gives scores for an open number of tokens': offlineCtc({ outputSize: 'V' }),
    'whose tokens are fewer than its scores': offlineCtc({ tokens: TOKENS.slice(0, 3) }),
    'without a blank': offlineCtc({ tokens: ['a', ...TOKENS.slice(1)] }),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "of another type of number": "model.onnx: input "x_lens" is int32 ["N"], expected int64 [1]",
      "that gives scores for an open number of tokens": "model.onnx: the last dimension of output "log_probs" is open, expected the number of tokens",
      "that takes other features": "model.onnx: input "x" is float32 ["N", "T", 40], expected float32 [1, 1, 80]",
      "whose tokens are fewer than its scores": "tokens.txt: found no symbol for id 3, expected ids 0 to 3 as in the output of model.onnx",
      "without a blank": "tokens.txt: found no blank symbol, expected one of <blk>, <eps>, <blank>",
    }
  `);
});

test('a SenseVoice is refused', async () => {
  const means = new Array<number>(560).fill(-8.5).join(',');
  const folders = {
    ...without(senseVoice, 'lfr_window_size', 'lfr_window_shift', 'normalize_samples', 'neg_mean'),
    ...without(senseVoice, 'inv_stddev', 'lang_zh', 'with_itn', 'vocab_size'),
    'lfr_window_shift 8': senseVoice({ metadata: { lfr_window_shift: '8' } }),
    'normalize_samples yes': senseVoice({ metadata: { normalize_samples: 'yes' } }),
    'blank_id 4': senseVoice({ metadata: { blank_id: '4' } }),
    'neg_mean of 561': senseVoice({ metadata: { neg_mean: `${means},1` } }),
    'neg_mean " "': senseVoice({ metadata: { neg_mean: means.replace('-8.5', ' ') } }),
    'inv_stddev nan': senseVoice({ metadata: { inv_stddev: means.replace('-8.5', 'nan') } }),
    'inv_stddev 1e999': senseVoice({ metadata: { inv_stddev: means.replace('-8.5', '1e999') } }),
    'rows not as wide as the metadata says': senseVoice({ rowValues: 80 }),
    'another type of number': senseVoice({ lengths: 'int64' }),
    'scores for another number of tokens': senseVoice({ outputSize: 560 }),
    'another model in its format': senseVoice({ metadata: { comment: 'FunASR/Some-Nano-2512' } }),
    'tokens fewer than its scores': senseVoice({ tokens: TOKENS.slice(0, 3) }),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "another model in its format": "model.onnx: found another model in SenseVoice's format (metadata comment is "FunASR/Some-Nano-2512"), expected SenseVoice itself, such as sherpa-onnx-sense-voice-zh-en-ja-ko-yue-int8-2024-07-17",
      "another type of number": "model.onnx: input "x_length" is int64 ["N"], expected int32 [1]",
      "blank_id 4": "model.onnx: metadata blank_id is "4", expected an integer from 0 to 3",
      "inv_stddev 1e999": "model.onnx: metadata inv_stddev has the value "1e999", expected 560 numbers",
      "inv_stddev nan": "model.onnx: metadata inv_stddev has the value "nan", expected 560 numbers",
      "lfr_window_shift 8": "model.onnx: metadata lfr_window_shift is "8", expected an integer from 1 to 7",
      "neg_mean " "": "model.onnx: metadata neg_mean has the value " ", expected 560 numbers",
      "neg_mean of 561": "model.onnx: metadata neg_mean has 561 values, expected 560 numbers",
      "no inv_stddev": "model.onnx: found no metadata inv_stddev, expected 560 numbers",
      "no lang_zh": "model.onnx: found no metadata lang_zh, expected an integer from 0 to 1000000",
      "no lfr_window_shift": "model.onnx: found no metadata lfr_window_shift, expected an integer from 1 to 7",
      "no lfr_window_size": "model.onnx: found no metadata lfr_window_size, expected an integer from 1 to 3000",
      "no neg_mean": "model.onnx: found no metadata neg_mean, expected 560 numbers",
      "no normalize_samples": "model.onnx: found no metadata normalize_samples, expected an integer from 0 to 1",
      "no vocab_size": "model.onnx: found no metadata vocab_size, expected an integer from 1 to 1000000",
      "no with_itn": "model.onnx: found no metadata with_itn, expected an integer from 0 to 1000000",
      "normalize_samples yes": "model.onnx: metadata normalize_samples is "yes", expected an integer from 0 to 1",
      "rows not as wide as the metadata says": "model.onnx: input "x" is float32 ["N", "T", 80], expected float32 [1, 1, 560]",
      "scores for another number of tokens": "model.onnx: metadata vocab_size is 4, expected 560 as in the output of model.onnx",
      "tokens fewer than its scores": "tokens.txt: found no symbol for id 3, expected ids 0 to 3 as in the output of model.onnx",
    }
  `);
});

const STACKING = ['lfr_window_size', 'lfr_window_shift', 'neg_mean', 'inv_stddev', 'vocab_size'] as const;

test('a Paraformer is refused', async () => {
  const folders = {
    ...without(paraformer, ...STACKING),
    'rows not as wide as the metadata says': paraformer({ rowValues: 80 }),
    'another type of number': paraformer({ lengths: 'int64' }),
    'one that takes hot words, too': paraformer({ moreInputs: ['bias_embed'] }),
    'scores for another number of tokens': paraformer({ outputSize: 560 }),
    'tokens fewer than its scores': paraformer({ tokens: TOKENS.slice(0, 3) }),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "another type of number": "model.onnx: input "speech_lengths" is int64 ["N"], expected int32 [1]",
      "no inv_stddev": "model.onnx: found no metadata inv_stddev, expected 560 numbers",
      "no lfr_window_shift": "model.onnx: found no metadata lfr_window_shift, expected an integer from 1 to 7",
      "no lfr_window_size": "model.onnx: found no metadata lfr_window_size, expected an integer from 1 to 3000",
      "no neg_mean": "model.onnx: found no metadata neg_mean, expected 560 numbers",
      "no vocab_size": "model.onnx: found no metadata vocab_size, expected an integer from 1 to 1000000",
      "one that takes hot words, too": "model.onnx: found 3 inputs, expected 2 by its family and metadata",
      "rows not as wide as the metadata says": "model.onnx: input "speech" is float32 ["N", "T", 80], expected float32 [1, 1, 560]",
      "scores for another number of tokens": "model.onnx: metadata vocab_size is 4, expected 560 as in the output of model.onnx",
      "tokens fewer than its scores": "tokens.txt: found no symbol for id 3, expected ids 0 to 3 as in the output of model.onnx",
    }
  `);
});

test('a streaming Paraformer is refused', async () => {
  const folders = {
    ...without(streamingParaformer, ...STACKING, 'encoder_output_size'),
    ...without(streamingParaformer, 'decoder_num_blocks', 'decoder_kernel_size'),
    'an encoder that takes hot words, too': streamingParaformer({ moreInputs: ['bias_embed'] }),
    'the decoder of a wider one': streamingParaformer({ decoderWidth: 16 }),
    'caches not as long as the metadata says': streamingParaformer({ metadata: { decoder_kernel_size: 9 } }),
    'fewer caches': streamingParaformer({ metadata: { decoder_num_blocks: 3 } }),
    'a decoder that leaves a cache out': streamingParaformer({ outputCaches: 1 }),
    'the decoder of another vocabulary': streamingParaformer({ scores: 5 }),
    'an encoder of other rows than the metadata says': streamingParaformer({ outputSize: 6 }),
    'tokens fewer than its scores': streamingParaformer({ tokens: TOKENS.slice(0, 3) }),
    'a decoder, which silence does not reach, that fails': streamingParaformer({ idType: 'int32' }),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "a decoder that leaves a cache out": "decoder.onnx: found 3 outputs, expected 4: scores, ids and one for each of 2 caches",
      "a decoder, which silence does not reach, that fails": "FOLDER: a run on silence failed (decoder.onnx: output 1 is int32, expected int64), expected a model that runs",
      "an encoder of other rows than the metadata says": "encoder.onnx: metadata encoder_output_size is 8, expected 6 as in the output of encoder.onnx",
      "an encoder that takes hot words, too": "encoder.onnx: found 3 inputs, expected 2 by its family and metadata",
      "caches not as long as the metadata says": "decoder.onnx: input "in_cache_0" is float32 ["N", 8, 10], expected float32 [1, 8, 8]",
      "fewer caches": "decoder.onnx: found 6 inputs, expected 7 by its family and metadata",
      "no decoder_kernel_size": "encoder.onnx: found no metadata decoder_kernel_size, expected an integer from 2 to 1000000",
      "no decoder_num_blocks": "encoder.onnx: found no metadata decoder_num_blocks, expected an integer from 1 to 1000",
      "no encoder_output_size": "encoder.onnx: found no metadata encoder_output_size, expected an integer from 1 to 1000000",
      "no inv_stddev": "encoder.onnx: found no metadata inv_stddev, expected 560 numbers",
      "no lfr_window_shift": "encoder.onnx: found no metadata lfr_window_shift, expected an integer from 1 to 7",
      "no lfr_window_size": "encoder.onnx: found no metadata lfr_window_size, expected an integer from 1 to 3000",
      "no neg_mean": "encoder.onnx: found no metadata neg_mean, expected 560 numbers",
      "no vocab_size": "encoder.onnx: found no metadata vocab_size, expected an integer from 1 to 1000000",
      "the decoder of a wider one": "decoder.onnx: input "enc" is float32 ["N", "U", 16], expected float32 [1, 1, 8]",
      "the decoder of another vocabulary": "encoder.onnx: metadata vocab_size is 4, expected 5 as in the output of decoder.onnx",
      "tokens fewer than its scores": "tokens.txt: found no symbol for id 3, expected ids 0 to 3 as in the output of decoder.onnx",
    }
  `);
});

test('a Whisper is refused', async () => {
  const write = (options: SmallWhisper): string => {
    const folder = testFolder();
    writeSmallWhisper(folder, options);
    return folder;
  };
  const metadata = (entries: SmallWhisper['metadata']): string => write({ metadata: entries ?? {} });
  const tokens = (change: (lines: string[]) => string[]): string => {
    const folder = write({});
    const path = join(folder, 'tiny-tokens.txt');
    writeFileSync(path, change(readFileSync(path, 'utf8').trim().split('\n')).join('\n'));
    return folder;
  };
  const other = write({});
  copyFileSync(
    writeSmallWhisper(testFolder(), { textContext: 32 }).decoder,
    join(other, 'tiny-decoder.onnx'),
  );
  const folders = {
    'that knows no Chinese': metadata({ all_language_codes: 'ja,en,de,yue' }),
    'with more languages than tokens for them': metadata({ all_language_codes: 'ja,zh,en,de,fr' }),
    'with tokens that the decoder does not score': metadata({ sot_prev: WHISPER_VOCABULARY_SIZE }),
    'of another number of tokens than the decoder scores': metadata({ n_vocab: WHISPER_VOCABULARY_SIZE + 1 }),
    'that hears less than the longest recording': metadata({ n_audio_ctx: 849 }),
    'of other bands than the encoder takes': metadata({ n_mels: 128 }),
    'neither English-only nor multilingual': metadata({ is_multilingual: 'True' }),
    'of another family': metadata({ model_type: 'moonshine' }),
    'with other caches: n_text_ctx': metadata({ n_text_ctx: 447 }),
    'with other caches: n_text_state': metadata({ n_text_state: 32 }),
    'with other caches: n_text_layer': metadata({ n_text_layer: 3 }),
    'whose places the prompt alone takes': write({ textContext: 14 }),
    'whose tokens end too soon': tokens((lines) => lines.slice(0, -1)),
    'whose tokens leave one out': tokens((lines) => lines.filter((_, id) => id !== 5)),
    'whose tokens are no base64': tokens((lines) => lines.map((line, id) => (id === 7 ? '是 7' : line))),
    'whose decoder belongs to another one': other,
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "neither English-only nor multilingual": "tiny-encoder.onnx: metadata is_multilingual is "True", expected an integer from 0 to 1",
      "of another family": "tiny-encoder.onnx: found model_type "moonshine" and no joiner*.onnx, expected whisper, streaming-paraformer or a transducer's three files",
      "of another number of tokens than the decoder scores": "tiny-encoder.onnx: metadata n_vocab is 347, expected 346 as in the output of tiny-decoder.onnx",
      "of other bands than the encoder takes": "tiny-encoder.onnx: input "mel" is float32 ["n_audio", 80, "T"], expected float32 [1, 128, 1700]",
      "that hears less than the longest recording": "tiny-encoder.onnx: metadata n_audio_ctx is "849", expected an integer from 850 to 1000000",
      "that knows no Chinese": "tiny-encoder.onnx: metadata all_language_codes is "ja,en,de,yue", expected zh among them",
      "whose decoder belongs to another one": "tiny-decoder.onnx: input "in_n_layer_self_k_cache" is float32 [2, "n_audio", 32, 24], expected float32 [2, 1, 448, 24]",
      "whose places the prompt alone takes": "tiny-encoder.onnx: metadata n_text_ctx is 14, expected more than the 14 tokens of the prompt",
      "whose tokens are no base64": "tiny-tokens.txt: found no base64 for id 7, expected ids 0 to 330 as Whisper's exports have them",
      "whose tokens end too soon": "tiny-tokens.txt: found no base64 for id 330, expected ids 0 to 330 as Whisper's exports have them",
      "whose tokens leave one out": "tiny-tokens.txt: found no base64 for id 5, expected ids 0 to 330 as Whisper's exports have them",
      "with more languages than tokens for them": "tiny-encoder.onnx: metadata all_language_tokens has 4 values, expected 5 as in the other lists",
      "with other caches: n_text_ctx": "tiny-decoder.onnx: input "in_n_layer_self_k_cache" is float32 [2, "n_audio", 448, 24], expected float32 [2, 1, 447, 24]",
      "with other caches: n_text_layer": "tiny-decoder.onnx: input "in_n_layer_self_k_cache" is float32 [2, "n_audio", 448, 24], expected float32 [3, 1, 448, 24]",
      "with other caches: n_text_state": "tiny-decoder.onnx: input "in_n_layer_self_k_cache" is float32 [2, "n_audio", 448, 24], expected float32 [2, 1, 448, 32]",
      "with tokens that the decoder does not score": "tiny-encoder.onnx: metadata sot_prev is "346", expected an integer from 0 to 345",
    }
  `);
});

test('what a refusal shows of a model steers no terminal and forges no line', async () => {
  const ones = { query_head_dims: 1, value_head_dims: 1, num_heads: 1, cnn_module_kernels: 3 };
  const sizes = { T: 29, decode_chunk_len: 16, encoder_dims: 4, num_encoder_layers: 1, left_context_len: 1 };
  const words = (type: string, name: string, dimension = 'N'): string =>
    CTC.graph((graph) => {
      const x = graph.input(name, 'float32', [dimension, 80]);
      for (let i = 0; i < 8; i++) graph.input(`state ${i}`, 'float32', ['N']);
      graph.output('y', x, 'float32', [dimension, 80]);
      graph.metadata({ model_type: type, ...(type === 'zipformer2' ? { ...sizes, ...ones } : {}) });
    });
  const file = (name: string, change: (path: string, folder: string) => void): string =>
    CTC.with((folder) => {
      renameSync(join(folder, 'model.onnx'), join(folder, name));
      change(join(folder, name), folder);
    });
  const names = ['\u001b[31mred.onnx', 'model\u009b2J\u202e.onnx', 'line\nforged line.onnx'];
  const folders = {
    'a line and a colour of its own': words('zip\nformer\u001b[31m', 'x\nforged line'),
    'a million characters': words('z'.repeat(900_000), 'x'.repeat(900_000)),
    'such words in shapes': words(
      ...(['zipformer2', 'x\u009b2J\u202e\u2028\u2029\nforged line', '\u001b[31m'.repeat(10_000)] as const),
    ),
    ...Object.fromEntries(
      names.flatMap((name, i) => [
        [`name ${i}, truncated`, file(name, (path) => truncateSync(path, 1000))],
        [`name ${i}, one of two`, file(name, (_, folder) => writeFileSync(join(folder, 'other.onnx'), ''))],
        [
          `name ${i}, a folder`,
          file(name, (path) => {
            rmSync(path);
            mkdirSync(path);
          }),
        ],
      ]),
    ),
  };
  expect(await refusals(folders)).toMatchInlineSnapshot(`
    {
      "a line and a colour of its own": "model.onnx: found model_type "zip\\nformer\\u001b[31m" and inputs "x\\nforged line", "state 0", "state 1", expected zipformer2-ctc, offline-zipformer-ctc, sense-voice or paraformer",
      "a million characters": "model.onnx: found model_type "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz" and inputs "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "state 0", "state 1", expected zipformer2-ctc, offline-zipformer-ctc, sense-voice or paraformer",
      "name 0, a folder": "FOLDER/\\u{1b}[31mred.onnx: cannot be read (EISDIR: illegal operation on a directory, read), expected an ONNX model",
      "name 0, one of two": "FOLDER: found \\u{1b}[31mred.onnx, other.onnx for *.onnx, expected exactly one",
      "name 0, truncated": "\\u{1b}[31mred.onnx: found 1000 bytes, expected at least 3016736: the file is truncated, copy or download it again",
      "name 1, a folder": "FOLDER/model\\u{9b}2J\\u{202e}.onnx: cannot be read (EISDIR: illegal operation on a directory, read), expected an ONNX model",
      "name 1, one of two": "FOLDER: found model\\u{9b}2J\\u{202e}.onnx, other.onnx for *.onnx, expected exactly one",
      "name 1, truncated": "model\\u{9b}2J\\u{202e}.onnx: found 1000 bytes, expected at least 3016736: the file is truncated, copy or download it again",
      "name 2, a folder": "FOLDER/line\\u{a}forged line.onnx: cannot be read (EISDIR: illegal operation on a directory, read), expected an ONNX model",
      "name 2, one of two": "FOLDER: found line\\u{a}forged line.onnx, other.onnx for *.onnx, expected exactly one",
      "name 2, truncated": "line\\u{a}forged line.onnx: found 1000 bytes, expected at least 3016736: the file is truncated, copy or download it again",
      "such words in shapes": "model.onnx: input "x\\u{9b}2J\\u{202e}\\u{2028}\\u{2029}\\nforged line" is float32 ["\\u001b[31m\\u001b[31m\\u001b[31m\\u001b[31m\\u001b[31m\\u001b[31m\\u001b[31m\\u001b[31m", 80], expected float32 [1, 29, 80]",
    }
  `);
});

const hardmox = (): string => CTC.patched('Softmax', 'Hardmox');

test.each<[what: string, folder: () => string, message: RegExp]>([
  [
    'a graph that it cannot run',
    hardmox,
    /^model\.onnx: onnxruntime with cpu says ".*Softmax.*", expected a model that loads$/,
  ],
  [
    'a row that the graph does not have',
    () => {
      const folder = testFolder();
      for (const name of ['model.onnx', 'tokens.txt'])
        copyFileSync(join(SENSE_VOICE_DIR, name), join(folder, name));
      patch(join(folder, 'model.onnx'), 'with_itn\x12\x0214', 'with_itn\x12\x0299');
      return folder;
    },
    /a run on silence failed \(model\.onnx: .*99.*\), expected a model that runs$/,
  ],
  [
    'an operator that has a colour of its own',
    () =>
      TRANSDUCER.graph((graph) => {
        const heard = graph.input('encoder_out', 'float32', ['N', 32]);
        graph.output('logit', graph.op('No\u001b[31mSuch', [heard]), 'float32', ['N', 45]);
      }, 'joiner.onnx'),
    /No\ufffd\[31mSuch/,
  ],
])('a refusal says what the runtime says: %s', async (_what, folder, message) => {
  expect(await loadError(folder())).toMatch(message);
});

test('execution providers asked for by name are not blamed for a model that does not load anywhere', async () => {
  expect(await loadError(hardmox(), ['cuda', 'cpu'])).toMatch(
    /^model\.onnx: onnxruntime with .* says ".*Softmax.*", expected a model that loads$/,
  );
});

test('execution providers asked for by name and not to be had are no fault of the model', async () => {
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
