import { ReDecodingModel } from '../../recording/re-decoding-model.ts';
import type { Family, SingleFolder } from '../family.ts';
import { senseVoiceLayout } from './layout.ts';
import { SenseVoiceModel } from './model.ts';

/** An et al., "FunAudioLLM: Voice Understanding and Generation Foundation Models …", 2024. */
export const SENSE_VOICE: Family<SingleFolder> = {
  name: 'sense-voice',
  isReDecoding: true,
  kind: 'single',
  matches: ({ model }) => model.metadata.text('model_type') === 'sense_voice_ctc',
  load: async ({ model, tokens }, graphs) => {
    const layout = senseVoiceLayout(model);
    return new ReDecodingModel(new SenseVoiceModel(await graphs.graph(model), layout, tokens));
  },
};
