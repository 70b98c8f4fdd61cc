import { controlMessages } from './control-messages.ts';
import type { Fuzz } from './fuzz.ts';
import { rawHttp } from './raw-http.ts';
import { streams } from './streams.ts';
import { uploads } from './uploads.ts';
import { anyWavFiles, validWavFiles } from './wav.ts';

export const ALL: readonly Fuzz[] = [validWavFiles, anyWavFiles, controlMessages, uploads, rawHttp, streams];
