import { type ErrorRate, type ModelCard, WHISPER_LICENCE } from './model-card.ts';

/**
 * What `npm run models` can download: public models for Chinese in the release "asr-models" of k2-fsa/sherpa-onnx.
 * Nothing here was measured by this project.
 */
export interface CatalogueEntry extends ModelCard {
  /** File name in the release, without `.tar.bz2`: `archiveName` adds it. */
  readonly archive: string;
  /** Size of the archive, as third parties list it. */
  readonly archiveBytes: number;
  readonly archiveSha256: string;
}

export const RELEASE_URL = 'https://github.com/k2-fsa/sherpa-onnx/releases/download/asr-models';

const X_ASR_README = 'https://github.com/Gilgamesh-J/X-ASR#evaluation';
const X_ASR_LICENCE = { name: 'Apache-2.0', source: 'https://github.com/Gilgamesh-J/X-ASR' };
const MULTI_ZH_PAGE =
  'https://huggingface.co/k2-fsa/sherpa-onnx-streaming-zipformer-multi-zh-hans-2023-12-12';
const MULTI_ZH_RESULTS = 'https://github.com/k2-fsa/icefall/blob/master/egs/multi_zh-hans/ASR/RESULTS.md';
// Not by the authors of Whisper, who publish no error rate of these sizes for these sets.
const WHISPER_TABLE = 'https://github.com/yeyupiaoling/Whisper-Finetune#readme';
const SENSE_VOICE_PAPER = 'https://arxiv.org/abs/2407.04051';

function xAsr(
  stepMs: number,
  archiveBytes: number,
  archiveSha256: string,
  net: number,
  meeting: number,
): CatalogueEntry {
  return {
    id: `x-asr-${stepMs}ms`,
    recommended: stepMs === 480,
    summary: 'with punctuation',
    languages: 'Chinese, English',
    family: 'zipformer2-transducer',
    isReDecoding: false,
    stepMs,
    archive: `sherpa-onnx-x-asr-${stepMs}ms-streaming-zipformer-transducer-zh-en-punct-int8-2026-06-05`,
    archiveBytes,
    archiveSha256,
    licence: X_ASR_LICENCE,
    characterErrorRates: [
      { testSet: 'WenetSpeech net', percent: net, source: X_ASR_README },
      { testSet: 'WenetSpeech meeting', percent: meeting, source: X_ASR_README },
    ],
  };
}

/** On the test sets that Chinese models are compared by; `aishell` is AISHELL-1's. */
function errorRates(aishell: number, net: number, meeting: number, source: string): readonly ErrorRate[] {
  return [
    { testSet: 'AISHELL-1 test', percent: aishell, source },
    { testSet: 'WenetSpeech net', percent: net, source },
    { testSet: 'WenetSpeech meeting', percent: meeting, source },
  ];
}

function whisper(
  size: 'tiny' | 'base' | 'small',
  summary: string,
  archiveBytes: number,
  archiveSha256: string,
  characterErrorRates: readonly ErrorRate[],
): CatalogueEntry {
  return {
    id: `whisper-${size}`,
    recommended: false,
    summary,
    languages: '99 languages, used for Chinese only',
    family: 'whisper',
    isReDecoding: true,
    stepMs: 500,
    archive: `sherpa-onnx-whisper-${size}`,
    archiveBytes,
    archiveSha256,
    licence: WHISPER_LICENCE,
    characterErrorRates,
  };
}

export const CATALOGUE: readonly CatalogueEntry[] = [
  xAsr(480, 133_895_136, 'fa5f63d618e5a01526e275a358bb7772e403f84808a4769fba52cffd8160bf74', 7.46, 9.11),
  xAsr(160, 133_898_007, '8a6fca056e1a342546edd78be4d50274e2c01898e7b8ae8fc336f6410319c399', 8.72, 10.47),
  xAsr(960, 133_895_831, '0a92b798bd6801c333c7ce8aebf5ba769bfe7f3f3511699a67837b2288428603', 6.97, 8.4),
  {
    id: 'zipformer-small-ctc',
    recommended: false,
    summary: 'the smallest',
    languages: 'Chinese',
    family: 'zipformer2-ctc',
    isReDecoding: false,
    stepMs: 320,
    archive: 'sherpa-onnx-streaming-zipformer-small-ctc-zh-int8-2025-04-01',
    archiveBytes: 21_264_113,
    archiveSha256: 'b3b309f7ce4a737195fcc6963ea19b0653a7d3401580af5ae0d3e284cbb71f0b',
    licence: undefined,
    characterErrorRates: [],
  },
  {
    id: 'zipformer-large-ctc',
    recommended: false,
    summary: 'large, for read speech',
    languages: 'Chinese',
    family: 'zipformer2-ctc',
    isReDecoding: false,
    stepMs: 320,
    archive: 'sherpa-onnx-streaming-zipformer-ctc-zh-int8-2025-06-30',
    archiveBytes: 127_965_713,
    archiveSha256: 'f2ab7a5deb02717801f6a5b26c751b42f8a2db891b07f5b095e6da7442081448',
    licence: undefined,
    characterErrorRates: [{ testSet: 'AISHELL-1 test', percent: 1.97, source: MULTI_ZH_RESULTS }],
  },
  {
    id: 'zipformer-multi-zh',
    recommended: false,
    summary: 'from 14,000 hours of public recordings',
    languages: 'Chinese',
    family: 'zipformer2-transducer',
    isReDecoding: false,
    stepMs: 320,
    archive: 'sherpa-onnx-streaming-zipformer-multi-zh-hans-2023-12-12',
    archiveBytes: 310_380_628,
    archiveSha256: '865308b30fba262182225f7e55ebb02a092566fe25dd6a78ec9dfeb7425dc7ba',
    licence: { name: 'Apache-2.0', source: MULTI_ZH_PAGE },
    characterErrorRates: [],
  },
  {
    id: 'sense-voice',
    recommended: false,
    summary: 'very fast, with punctuation and digits',
    languages: '5 languages, used for Chinese only',
    family: 'sense-voice',
    isReDecoding: true,
    stepMs: 500,
    archive: 'sherpa-onnx-sense-voice-zh-en-ja-ko-yue-int8-2024-07-17',
    archiveBytes: 163_002_883,
    archiveSha256: '7d1efa2138a65b0b488df37f8b89e3d91a60676e416f515b952358d83dfd347e',
    licence: {
      name: 'FunASR Model License 1.1',
      source: 'https://github.com/modelscope/FunASR/blob/main/MODEL_LICENSE',
      attribution: 'SenseVoiceSmall by FunAudioLLM, Alibaba Group',
    },
    characterErrorRates: errorRates(2.96, 7.84, 7.44, SENSE_VOICE_PAPER),
  },
  whisper(
    'tiny',
    'the smallest Whisper',
    116_204_861,
    'c46116994e539aa165266d96b325252728429c12535eb9d8b6a2b10f129e66b1',
    errorRates(31.9, 40.48, 75.33, WHISPER_TABLE),
  ),
  whisper(
    'base',
    'the bundled model before it was cut to Chinese',
    207_557_382,
    '911b2083efd7c0dca2ac3b358b75222660dc09fb716d64fbfc417ba6c99ff3de',
    errorRates(22.2, 30.4, 50.38, WHISPER_TABLE),
  ),
  whisper(
    'small',
    'the largest Whisper here',
    639_387_718,
    '486a46afbb7ba798507190ffe02fea2dd726049af212e774537efac6afb210a6',
    [...errorRates(13.9, 18.42, 31.15, WHISPER_TABLE), ...errorRates(10.04, 16.66, 25.62, SENSE_VOICE_PAPER)],
  ),
];

export function findEntry(
  id: string,
  catalogue: readonly CatalogueEntry[] = CATALOGUE,
): CatalogueEntry | undefined {
  return catalogue.find((entry) => entry.id === id);
}

export function archiveName(entry: CatalogueEntry): string {
  return `${entry.archive}.tar.bz2`;
}
