import { StreamingModel } from '../../recording/streaming-model.ts';
import type { Family, SingleFolder, TransducerFolder } from '../family.ts';
import { CtcModel } from './ctc-model.ts';
import { modelType, type ZipformerType, zipformerLayout } from './layout.ts';
import { TransducerModel } from './transducer-model.ts';

/** Yao et al., "Zipformer: A faster and better encoder for automatic speech recognition", 2023. */
export const ZIPFORMER2_CTC: Family<SingleFolder> = {
  name: 'zipformer2-ctc',
  isReDecoding: false,
  kind: 'single',
  matches: ({ model }) => modelType(model) === 'zipformer2',
  load: async ({ model, tokens }, graphs) => {
    const network = await graphs.network(model, zipformerLayout(model));
    return new StreamingModel(new CtcModel(network, tokens));
  },
};

export const ZIPFORMER2_TRANSDUCER = transducerOf('zipformer2');

/** Of icefall's `pruned_transducer_stateless7_streaming`. */
export const ZIPFORMER_TRANSDUCER = transducerOf('zipformer');

function transducerOf(type: ZipformerType): Family<TransducerFolder> {
  return {
    name: `${type}-transducer`,
    isReDecoding: false,
    kind: 'transducer',
    matches: ({ encoder }) => modelType(encoder) === type,
    load: async ({ encoder, decoder, joiner, tokens }, graphs) => {
      const network = await graphs.network(encoder, zipformerLayout(encoder));
      const parts = [
        { outline: decoder, onnx: await graphs.smallGraph(decoder) },
        { outline: joiner, onnx: await graphs.smallGraph(joiner) },
      ] as const;
      return new StreamingModel(new TransducerModel(network, ...parts, tokens));
    },
  };
}
