import { MEL_BINS } from '../../features/frames.ts';
import { checkInputs } from '../../onnx/tensors.ts';
import { ReDecodingModel } from '../../recording/re-decoding-model.ts';
import type { Family, SingleFolder } from '../family.ts';
import { OfflineZipformerCtc } from './model.ts';

/** A whole Zipformer2 with a CTC head, as icefall's `zipformer/export-onnx-ctc.py` writes it. */
export const OFFLINE_ZIPFORMER_CTC: Family<SingleFolder> = {
  name: 'offline-zipformer-ctc',
  isReDecoding: true,
  kind: 'single',
  matches: ({ model }) => model.metadata.text('model_type') === 'zipformer2_ctc',
  load: async ({ model, tokens }, graphs) => {
    checkInputs(model, [
      { name: 'x', type: 'float32', shape: [1, 1, MEL_BINS] },
      { name: 'x_lens', type: 'int64', shape: [1] },
    ]);
    return new ReDecodingModel(new OfflineZipformerCtc(await graphs.graph(model), tokens));
  },
};
