import { SAMPLE_RATE_HZ } from '../../../common/audio/limits.ts';
import { FRAME_SHIFT_SAMPLES, transpose } from '../features/frames.ts';
import type { GrowingFrames } from '../features/growing-frames.ts';
import { normalizeWhisperWindow } from '../features/whisper-fbank.ts';
import type { ReDecoder } from '../re-decoded-recording.ts';
import { greedySearch } from '../search/autoregressive-greedy.ts';
import { beamSearch } from '../search/beam-search.ts';
import type { SearchRules, TokenDecoder } from '../search/token-decoder.ts';
import { type ByteTokens, wholeCharacterTokens } from '../text/byte-tokens.ts';
import { chineseText, type Simplify } from '../text/chinese-text.ts';
import { beginsCredit, isNoText, maxTextTokens } from './whisper-guards.ts';

/** A window below 6.5 s makes the model miss its end and repeat itself (character error rate over 100 %). From 8 s on nothing is gained. */
const MIN_WINDOW_SAMPLES = 8 * SAMPLE_RATE_HZ;
/** Silence behind longer recordings. Without it the error rate of recordings over 6 s is 75.6 %, with it 17.1 %. More is no better. */
const TAIL_SAMPLES = SAMPLE_RATE_HZ / 2;
const BEAMS = 5;
const TRAILING_PUNCTUATION = /[\p{Punctuation}\s]+$/u;

export interface WhisperParts<State> {
  readonly rules: SearchRules;
  readonly tokens: ByteTokens;
  readonly simplify: Simplify;
  /** @param mel (melBins, frames), normalised. */
  encode(mel: Float32Array, frameCount: number): Promise<TokenDecoder<State>>;
}

/** One recording in a Whisper. */
export class WhisperRecording<State> implements ReDecoder {
  readonly #parts: WhisperParts<State>;
  readonly #frames: GrowingFrames;
  readonly #signal: AbortSignal;
  /** Of the last update, and the samples that it covers. */
  #encoded: { readonly samples: number; readonly decoder: TokenDecoder<State> } | undefined;
  /** Tokens of the last update. */
  #previous: readonly number[] = [];
  /** What two updates in a row have begun with. It is given to the next one: so half as many characters are rewritten (353 instead of 742). */
  #agreed: readonly number[] = [];
  #hasSpeech = false;

  constructor(parts: WhisperParts<State>, frames: GrowingFrames, signal: AbortSignal) {
    this.#parts = parts;
    this.#frames = frames;
    this.#signal = signal;
  }

  accept(samples: Float32Array): void {
    this.#frames.accept(samples);
  }

  async update(): Promise<string> {
    const { rules, tokens } = this.#parts;
    const decoder = await this.#encode();
    const found = await greedySearch(decoder, rules, this.#agreed, this.#maxTokens, this.#signal);
    const text = this.#text(found.tokens);
    this.#hasSpeech ||= !isNoText(found, text);
    if (!this.#hasSpeech) return '';
    const common = commonLength(this.#previous, found.tokens);
    // What ran into a limit is no reading to agree with.
    this.#previous = found.isCutOff ? [] : found.tokens;
    if (common > this.#agreed.length) {
      const agreed = found.tokens.slice(0, common);
      this.#agreed = agreed.slice(0, wholeCharacterTokens(tokens, agreed));
    }
    return beginsCredit(text) ? '' : withoutNewest(text);
  }

  /** Does without what updates agreed on: that would cost three points of the error rate. */
  async finish(): Promise<string> {
    const decoder = await this.#encode();
    const found = await beamSearch(decoder, this.#parts.rules, BEAMS, this.#maxTokens, this.#signal);
    const text = this.#text(found.tokens);
    return isNoText(found, text) ? '' : text;
  }

  get #maxTokens(): number {
    return maxTextTokens(this.#frames.samples / SAMPLE_RATE_HZ);
  }

  #text(ids: readonly number[]): string {
    return this.#parts.simplify(chineseText(this.#parts.tokens.bytes(ids)));
  }

  async #encode(): Promise<TokenDecoder<State>> {
    const { samples, bins } = this.#frames;
    if (this.#encoded?.samples === samples) return this.#encoded.decoder;
    const windowSamples = Math.max(MIN_WINDOW_SAMPLES, samples + TAIL_SAMPLES);
    const frameCount = Math.floor(windowSamples / FRAME_SHIFT_SAMPLES);
    const logMel = this.#frames.followedBySilence(frameCount);
    // The whole window is normalised anew: a louder frame lifts the floor under all those before it.
    normalizeWhisperWindow(logMel, logMel);
    const mel = new Float32Array(logMel.length);
    transpose(logMel, frameCount, bins, mel);
    this.#signal.throwIfAborted();
    const decoder = await this.#parts.encode(mel, frameCount);
    this.#signal.throwIfAborted();
    this.#encoded = { samples, decoder };
    return decoder;
  }
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const differs = a.findIndex((token, i) => token !== b[i]);
  return differs < 0 ? a.length : differs;
}

/** A partial result. The newest character changes most often, so it is held back (207 rewritten instead of 353). So is punctuation at the end. */
function withoutNewest(text: string): string {
  const characters = Array.from(text.replace(TRAILING_PUNCTUATION, ''));
  return characters.slice(0, -1).join('').replace(TRAILING_PUNCTUATION, '');
}
