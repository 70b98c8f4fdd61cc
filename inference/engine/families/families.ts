import type { Family } from './family.ts';
import { OFFLINE_ZIPFORMER_CTC } from './offline-zipformer-ctc/offline-zipformer-ctc.ts';
import { PARAFORMER, STREAMING_PARAFORMER } from './paraformer/paraformer.ts';
import { SENSE_VOICE } from './sense-voice/sense-voice.ts';
import { WHISPER } from './whisper/whisper.ts';
import { ZIPFORMER_TRANSDUCER, ZIPFORMER2_CTC, ZIPFORMER2_TRANSDUCER } from './zipformer/zipformer.ts';

/** Every family that can be loaded. A folder is of the first one that matches it. */
export const FAMILIES: readonly Family[] = [
  ZIPFORMER2_CTC,
  OFFLINE_ZIPFORMER_CTC,
  SENSE_VOICE,
  PARAFORMER,
  WHISPER,
  STREAMING_PARAFORMER,
  ZIPFORMER2_TRANSDUCER,
  ZIPFORMER_TRANSDUCER,
];
