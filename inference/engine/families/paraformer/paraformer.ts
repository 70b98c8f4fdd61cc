import type { OnnxOutline } from '../../onnx/onnx-reader.ts';
import { ReDecodingModel } from '../../recording/re-decoding-model.ts';
import { StreamingModel } from '../../recording/streaming-model.ts';
import type { EncoderDecoderFolder, Family, SingleFolder } from '../family.ts';
import { paraformerLayout, streamingParaformerLayout } from './layout.ts';
import { ParaformerModel } from './model.ts';
import { StreamingParaformerModel } from './streaming-model.ts';

/**
 * Gao et al., "Paraformer: Fast and Accurate Parallel Transformer for Non-autoregressive End-to-End Speech
 * Recognition", 2022.
 */
export const PARAFORMER: Family<SingleFolder> = {
  name: 'paraformer',
  isReDecoding: true,
  kind: 'single',
  matches: ({ model }) => takesSpeech(model),
  load: async ({ model, tokens }, graphs) => {
    const layout = paraformerLayout(model);
    return new ReDecodingModel(new ParaformerModel(await graphs.graph(model), layout, tokens));
  },
};

/** The same, with an encoder that sees a recording step by step. */
export const STREAMING_PARAFORMER: Family<EncoderDecoderFolder> = {
  name: 'streaming-paraformer',
  isReDecoding: false,
  kind: 'encoder-decoder',
  matches: ({ encoder }) => takesSpeech(encoder),
  load: async ({ encoder, decoder, tokens }, graphs) => {
    const layout = streamingParaformerLayout(encoder, decoder);
    const [encoding, decoding] = [await graphs.graph(encoder), await graphs.graph(decoder)];
    return new StreamingModel(new StreamingParaformerModel(encoding, decoding, layout, tokens));
  },
};

function takesSpeech({ inputs: [first, second] }: OnnxOutline): boolean {
  return first?.name === 'speech' && second?.name === 'speech_lengths';
}
