import { readSimplify } from '../../text/chinese-text.ts';
import type { EncoderDecoderFolder, Family } from '../family.ts';
import { whisperLayout } from './layout.ts';
import { WhisperModel } from './model.ts';

/** Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", 2022. */
export const WHISPER: Family<EncoderDecoderFolder> = {
  name: 'whisper',
  isReDecoding: true,
  kind: 'encoder-decoder',
  matches: ({ encoder }) => encoder.metadata.text('model_type')?.startsWith('whisper') === true,
  load: async ({ encoder, decoder, tokens }, graphs) => {
    const layout = whisperLayout(encoder, decoder);
    const simplify = await readSimplify();
    const [encoding, decoding] = [await graphs.graph(encoder), await graphs.graph(decoder)];
    return new WhisperModel(encoder, layout, encoding, decoding, tokens, simplify);
  },
};
