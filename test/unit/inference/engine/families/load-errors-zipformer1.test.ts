import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OnnxGraph } from '../../../../onnx/graph.ts';
import { loadError, patch, smallModel } from '../broken-models.ts';

type Change = (folder: string) => void;

/** Of the same length. */
const metadata =
  (from: string, to: string): Change =>
  (folder) =>
    patch(join(folder, 'encoder.onnx'), from, to);

test.each<[what: string, change: Change, message: string]>([
  [
    'without the size of its attention',
    metadata('attention_dims', 'attention_size'),
    'encoder.onnx: found no metadata attention_dims, expected 3 integers from 1 to 1000000',
  ],
  [
    'that remembers fewer frames than its metadata says',
    metadata('16,8,4', '16,8,5'),
    'encoder.onnx: input "cached_key_2" is float32 [1, 4, "N", 8], expected float32 [1, 5, 1, 8]',
  ],
  [
    'that counts frames in another type',
    (folder) => {
      const graph = new OnnxGraph();
      graph.input('x', 'float32', ['N', 39, 80]);
      for (const kind of ['len', 'avg', 'key', 'val', 'val2', 'conv1', 'conv2'])
        graph.input(`cached_${kind}_0`, 'float32', [1, 'N']);
      graph.output('encoder_out', 'x', 'float32', ['N']);
      const sizes = { encoder_dims: 4, attention_dims: 4, cnn_module_kernels: 3, left_context_len: 4 };
      graph.metadata({
        model_type: 'zipformer',
        T: 39,
        decode_chunk_len: 32,
        num_encoder_layers: 1,
        ...sizes,
      });
      writeFileSync(join(folder, 'encoder.onnx'), graph.build());
    },
    'encoder.onnx: input "cached_len_0" is float32 [1, "N"], expected int64 [1, 1]',
  ],
  [
    'of no type',
    metadata('model_type\x12\x09zipformer', 'model_typf\x12\x09zipformer'),
    'encoder.onnx: found model_type (none), expected zipformer2-transducer or zipformer-transducer',
  ],
  [
    'without its joiner',
    (folder) => rmSync(join(folder, 'joiner.onnx')),
    'encoder.onnx: found model_type "zipformer" and no joiner*.onnx, expected whisper, streaming-paraformer or a transducer\'s three files',
  ],
  [
    'whose encoder stands alone',
    (folder) => {
      for (const name of ['decoder.onnx', 'joiner.onnx']) rmSync(join(folder, name));
      renameSync(join(folder, 'encoder.onnx'), join(folder, 'model.onnx'));
    },
    'model.onnx: found model_type "zipformer" and inputs "x", "cached_len_0", "cached_len_1", expected zipformer2-ctc, offline-zipformer-ctc, sense-voice or paraformer',
  ],
])('a first Zipformer is refused %s', async (_what, change, message) => {
  expect(await loadError(smallModel('zipformer-transducer', change))).toBe(message);
});
