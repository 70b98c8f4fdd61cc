/**
 * What a person who chooses a model wants to know of it. A field is undefined or empty where nothing is
 * published.
 */
export interface ModelCard {
  /** Lower-case letters, digits and dashes: also the folder's name. */
  readonly id: string;
  readonly recommended: boolean;
  /** In a few words, what no other field says. */
  readonly summary: string;
  readonly languages: string;
  /** What the engine makes of its files. */
  readonly family: string;
  /** Each update of a stream looks at the audio again. */
  readonly isReDecoding: boolean;
  /** Audio from one update of a stream's text to the next. */
  readonly stepMs: number;
  readonly licence: Licence | undefined;
  readonly characterErrorRates: readonly ErrorRate[];
}

interface Licence {
  readonly name: string;
  readonly source: string;
  /** What the licence wants to be named where the model is used. */
  readonly attribution?: string;
}

/** As the source gives it, usually for the weights before quantisation. */
export interface ErrorRate {
  readonly testSet: string;
  readonly percent: number;
  /** An address, or who measured it. */
  readonly source: string;
}

export const WHISPER_LICENCE: Licence = {
  name: 'MIT',
  source: 'https://github.com/openai/whisper/blob/main/LICENSE',
};

/** The model that comes with the server; `bytes` is the size of its files. */
export const BUNDLED: ModelCard & { readonly name: string; readonly bytes: number } = {
  id: 'bundled',
  name: 'Whisper base',
  recommended: false,
  summary: 'comes with the server',
  languages: 'Chinese, some English',
  family: 'whisper',
  isReDecoding: true,
  stepMs: 500,
  bytes: 53_877_902,
  licence: WHISPER_LICENCE,
  characterErrorRates: [
    // Of uploads, by the rule of `npm run eval`.
    { testSet: '82 recordings of AISHELL-1 and THCHS-30', percent: 9.7, source: 'measured here' },
  ],
};
