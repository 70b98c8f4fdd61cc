/**
 * What `npm run models` can download: public streaming models for Chinese in the release "asr-models" of k2-fsa/sherpa-onnx.
 * A field is undefined or empty where nothing is published; nothing here was measured by this project.
 */
export interface CatalogueEntry {
  /** Lower-case letters, digits and dashes: also the folder's name. */
  readonly id: string;
  readonly recommended: boolean;
  readonly summary: string;
  readonly family: 'zipformer2-ctc' | 'zipformer2-transducer';
  readonly features: 'kaldi' | 'whisper';
  /** Audio per model step. */
  readonly stepMs: number;
  /** File name in the release, without `.tar.bz2`. */
  readonly archive: string;
  /** Size of the archive as third parties list it; the hash decides. */
  readonly archiveBytes: number;
  readonly archiveSha256: string;
  readonly licence: { readonly spdx: string; readonly source: string } | undefined;
  readonly characterErrorRates: readonly PublishedErrorRate[];
}

/** As its authors publish it: greedy search, streaming, usually with the weights before quantisation. */
interface PublishedErrorRate {
  readonly testSet: string;
  readonly percent: number;
  readonly source: string;
}

export const RELEASE_URL = 'https://github.com/k2-fsa/sherpa-onnx/releases/download/asr-models';

const X_ASR_README = 'https://github.com/Gilgamesh-J/X-ASR#evaluation';
const X_ASR_LICENCE = { spdx: 'Apache-2.0', source: 'https://github.com/Gilgamesh-J/X-ASR' };
const MULTI_ZH_PAGE =
  'https://huggingface.co/k2-fsa/sherpa-onnx-streaming-zipformer-multi-zh-hans-2023-12-12';
const MULTI_ZH_RESULTS = 'https://github.com/k2-fsa/icefall/blob/master/egs/multi_zh-hans/ASR/RESULTS.md';

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
    summary: `Chinese and English with punctuation, a step of ${stepMs} ms`,
    family: 'zipformer2-transducer',
    features: 'kaldi',
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

export const CATALOGUE: readonly CatalogueEntry[] = [
  xAsr(480, 133_895_136, 'fa5f63d618e5a01526e275a358bb7772e403f84808a4769fba52cffd8160bf74', 7.46, 9.11),
  xAsr(160, 133_898_007, '8a6fca056e1a342546edd78be4d50274e2c01898e7b8ae8fc336f6410319c399', 8.72, 10.47),
  xAsr(960, 133_895_831, '0a92b798bd6801c333c7ce8aebf5ba769bfe7f3f3511699a67837b2288428603', 6.97, 8.4),
  {
    id: 'zipformer-small-ctc',
    recommended: false,
    summary: 'Chinese, the smallest and fastest',
    family: 'zipformer2-ctc',
    features: 'kaldi',
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
    summary: 'Chinese, large, read speech',
    family: 'zipformer2-ctc',
    features: 'whisper',
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
    summary: 'Chinese, 14,000 hours of public recordings',
    family: 'zipformer2-transducer',
    features: 'kaldi',
    stepMs: 320,
    archive: 'sherpa-onnx-streaming-zipformer-multi-zh-hans-2023-12-12',
    archiveBytes: 310_380_628,
    archiveSha256: '865308b30fba262182225f7e55ebb02a092566fe25dd6a78ec9dfeb7425dc7ba',
    licence: { spdx: 'Apache-2.0', source: MULTI_ZH_PAGE },
    characterErrorRates: [],
  },
];

export function findEntry(
  id: string,
  catalogue: readonly CatalogueEntry[] = CATALOGUE,
): CatalogueEntry | undefined {
  return catalogue.find((entry) => entry.id === id);
}
