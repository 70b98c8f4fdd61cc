import { SAMPLE_RATE_HZ } from '../../../../common/audio/limits.ts';
import { FRAME_SHIFT_SAMPLES, transpose } from '../../features/frames.ts';
import type { GrowingFrames } from '../../features/growing-frames.ts';
import { MARGIN_FRAMES, type Piece, spokenPieces } from '../../features/spoken-pieces.ts';
import { normalizeWhisperWindow } from '../../features/whisper-fbank.ts';
import type { Judgement } from '../../postprocessing/judge.ts';
import type { ReDecoder } from '../../recording/re-decoded-recording.ts';
import { greedySearch } from '../../search/autoregressive-greedy.ts';
import { beamSearch } from '../../search/beam-search.ts';
import type { Hypothesis, SearchRules, TokenDecoder } from '../../search/token-decoder.ts';
import { wholeCharacterTokens } from '../../text/byte-tokens.ts';
import { chineseText, type Simplify } from '../../text/chinese-text.ts';
import { beginsCredit, echoesPrompt, isNoText, maxTextTokens } from './guards.ts';
import { WhisperJudge } from './judge.ts';
import type { WhisperVocabulary } from './layout.ts';
import { countSyllables, FAST, joinPieces, settledText, TOO_FAST, withStops } from './text.ts';

const FRAMES_PER_SECOND = SAMPLE_RATE_HZ / FRAME_SHIFT_SAMPLES;
/**
 * A window below 6.5 s makes the model miss its end and repeat itself (character error rate over 100 %). From
 * 8 s on nothing is gained.
 */
const MIN_WINDOW_FRAMES = 8 * FRAMES_PER_SECOND;
/**
 * Silence behind the recording. With half a second, sentences were said twice: error rate 18.7 % of 60
 * recordings, instead of 14.6 %.
 */
const TAIL_FRAMES = 2 * FRAMES_PER_SECOND;
/** Behind a piece of it. Without any, the error rate of recordings over 6 s is 75.6 %, with it 17.1 %. */
const PIECE_TAIL_FRAMES = FRAMES_PER_SECOND / 2;
const BEAMS = 5;
/**
 * What is said twice with a short pause comes once in half of such recordings: the first five texts that come to an end are
 * short. Among twenty, all of 93 such recordings have one of the right length.
 */
const MORE_ENDINGS = 20;
/** Syllables a second of speech: 13 of 565 recordings have less. Then there was time for more. */
const SLOW = 3;
/** Mean log-probability of the text without the prompt. 82 recordings of speech lie at −0.55 or higher. */
const MIN_MEAN_WITHOUT_PROMPT = -0.9;
const TRAILING_PUNCTUATION = /[\p{Punctuation}\s]+$/u;

export interface WhisperParts<State> extends WhisperVocabulary {
  readonly simplify: Simplify;
  /** @param mel (melBins, frames), normalised. */
  encode(mel: Float32Array, frameCount: number): Promise<TokenDecoder<State>>;
}

/** The end of a recording whose text may yet change. */
interface Open {
  /** Frame that it begins with. */
  readonly start: number;
  /** Tokens of the last update. */
  previous: readonly number[];
  /**
   * What two updates in a row have begun with. It is given to the next one: so half as many characters are
   * rewritten (353 instead of 742).
   */
  agreed: readonly number[];
  hasSpeech: boolean;
}

/** One recording in a Whisper. */
export class WhisperRecording<State> implements ReDecoder {
  readonly #parts: WhisperParts<State>;
  readonly #frames: GrowingFrames;
  readonly #signal: AbortSignal;
  /** Of the last window that reached to the end, where it begins, and the samples that it covers. */
  #encoded:
    | { readonly start: number; readonly samples: number; readonly decoder: TokenDecoder<State> }
    | undefined;
  /** Texts of the pieces that were decoded by themselves, by their place. */
  readonly #pieces = new Map<string, string>();
  /** What was said before the last pause. */
  #settled = '';
  #open = openFrom(0);
  #judge: WhisperJudge<State> | undefined;

  constructor(parts: WhisperParts<State>, frames: GrowingFrames, signal: AbortSignal) {
    this.#parts = parts;
    this.#frames = frames;
    this.#signal = signal;
  }

  accept(samples: Float32Array): void {
    this.#frames.accept(samples);
  }

  async update(): Promise<string> {
    const pieces = this.#findPieces();
    const heardFrames = Math.floor(this.#frames.samples / FRAME_SHIFT_SAMPLES);
    const isInPause = (pieces.at(-1)?.end ?? heardFrames) <= heardFrames - MARGIN_FRAMES;
    if (!isInPause) return withoutEndMarks(joinPieces([this.#settled, await this.#openText(heardFrames)]));
    // The end of a piece is behind it: its text stays, and what comes next is decoded by itself.
    this.#settled = joinPieces(await this.#pieceTexts(pieces));
    this.#open = openFrom(heardFrames - MARGIN_FRAMES);
    return withoutEndMarks(this.#settled);
  }

  /** What is said since the last pause. */
  async #openText(heardFrames: number): Promise<string> {
    const { rules, tokens } = this.#parts;
    const open = this.#open;
    const decoder = await this.#encodeFrom(open.start);
    const maxTokens = maxTextTokens((heardFrames - open.start) / FRAMES_PER_SECOND);
    const found = await greedySearch(decoder, rules, open.agreed, maxTokens, this.#signal);
    const text = this.#text(found);
    const isEcho = echoesPrompt(text);
    open.hasSpeech ||= !isEcho && !isNoText(found, text);
    if (!open.hasSpeech) return '';
    const common = commonLength(open.previous, found.tokens);
    // What ran into a limit is no reading to agree with.
    open.previous = found.isCutOff || isEcho ? [] : found.tokens;
    if (common > open.agreed.length) {
      const agreed = found.tokens.slice(0, common);
      open.agreed = agreed.slice(0, wholeCharacterTokens(tokens, agreed));
    }
    return isEcho || beginsCredit(text) ? '' : withoutNewest(text);
  }

  /** Does without what updates agreed on: that would cost three points of the error rate. */
  async finish(): Promise<string> {
    const pieces = this.#findPieces();
    const whole = await this.#wholeText(pieces);
    if (whole === '' || pieces.length < 2) return whole;
    const texts = await this.#pieceTexts(pieces);
    const decoded = pieces.map(({ spokenFrames }, i) => ({
      text: texts[i] ?? '',
      seconds: spokenFrames / FRAMES_PER_SECOND,
    }));
    return withStops(settledText(whole, decoded), texts, (variants) => this.judge(variants));
  }

  /** By the whole recording. */
  async judge(texts: readonly string[]): Promise<readonly Judgement[]> {
    this.#judge ??= new WhisperJudge(await this.#encodeFrom(0), this.#parts, this.#signal);
    return this.#judge.judge(texts);
  }

  async #wholeText(pieces: readonly Piece[]): Promise<string> {
    const { rules, rulesWithoutPrompt } = this.#parts;
    const found = await this.#search(rules, pieces);
    const text = this.#text(found);
    if (isNoText(found, text)) return '';
    if (!echoesPrompt(text)) return text;
    const other = await this.#search(rulesWithoutPrompt, pieces);
    const otherText = this.#text(other);
    return isNoText(other, otherText) || other.meanLogProbability < MIN_MEAN_WITHOUT_PROMPT ? '' : otherText;
  }

  /** In a recording of one piece, the time that it speaks says how much a text may say, and how much it should. */
  async #search(rules: SearchRules, [piece, ...others]: readonly Piece[]): Promise<Hypothesis> {
    const decoder = await this.#encodeFrom(0);
    const limits = { width: BEAMS, endings: BEAMS, maxTokens: this.#maxTokens };
    if (piece === undefined || others.length > 0) return beamSearch(decoder, rules, limits, this.#signal);
    const rate = (hypothesis: Hypothesis): number =>
      (countSyllables(this.#text(hypothesis)) * FRAMES_PER_SECOND) / piece.spokenFrames;
    const found = await beamSearch(decoder, rules, limits, this.#signal, (ended) => rate(ended) <= TOO_FAST);
    if (rate(found) >= SLOW || found.firstLogProbability < rules.doubtfulFirst) return found;
    const more = { ...limits, endings: MORE_ENDINGS };
    const longer = await beamSearch(decoder, rules, more, this.#signal, (ended) => rate(ended) <= FAST);
    return rate(longer) <= FAST ? longer : found;
  }

  #findPieces(): Piece[] {
    return spokenPieces(this.#frames.complete(), this.#frames.bins);
  }

  /** Each decoded by itself; of those that were before, only their texts are kept. */
  async #pieceTexts(pieces: readonly Piece[]): Promise<string[]> {
    const texts: string[] = [];
    for (const piece of pieces) {
      const place = `${piece.start}-${piece.end}`;
      const text = this.#pieces.get(place) ?? (await this.#pieceText(piece));
      this.#pieces.set(place, text);
      texts.push(text);
    }
    return texts;
  }

  async #pieceText({ start, end }: Piece): Promise<string> {
    const decoder = await this.#encode(start, end, PIECE_TAIL_FRAMES);
    const maxTokens = maxTextTokens((end - start) / FRAMES_PER_SECOND);
    const found = await greedySearch(decoder, this.#parts.rules, [], maxTokens, this.#signal);
    const text = this.#text(found);
    return isNoText(found, text) || echoesPrompt(text) ? '' : text;
  }

  get #maxTokens(): number {
    return maxTextTokens(this.#frames.samples / SAMPLE_RATE_HZ);
  }

  #text({ tokens }: Hypothesis): string {
    return this.#parts.simplify(chineseText(this.#parts.tokens.bytes(tokens)));
  }

  /** From a frame to the end of what there is. */
  async #encodeFrom(start: number): Promise<TokenDecoder<State>> {
    const { samples } = this.#frames;
    if (this.#encoded?.samples === samples && this.#encoded.start === start) return this.#encoded.decoder;
    const decoder = await this.#encode(start, Math.floor(samples / FRAME_SHIFT_SAMPLES), TAIL_FRAMES);
    this.#encoded = { start, samples, decoder };
    return decoder;
  }

  async #encode(start: number, end: number, tailFrames: number): Promise<TokenDecoder<State>> {
    const { bins } = this.#frames;
    const frameCount = Math.max(MIN_WINDOW_FRAMES, end - start + tailFrames);
    const logMel = this.#frames.followedBySilence(frameCount, start, end);
    // The whole window is normalised anew: a louder frame lifts the floor under all those before it.
    normalizeWhisperWindow(logMel, logMel);
    const mel = new Float32Array(logMel.length);
    transpose(logMel, frameCount, bins, mel);
    this.#signal.throwIfAborted();
    const decoder = await this.#parts.encode(mel, frameCount);
    this.#signal.throwIfAborted();
    return decoder;
  }
}

function openFrom(start: number): Open {
  return { start, previous: [], agreed: [], hasSpeech: false };
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const differs = a.findIndex((token, i) => token !== b[i]);
  return differs < 0 ? a.length : differs;
}

function withoutEndMarks(text: string): string {
  return text.replace(TRAILING_PUNCTUATION, '');
}

/** The newest character changes most often, so it is held back (207 rewritten instead of 353). */
function withoutNewest(text: string): string {
  return Array.from(withoutEndMarks(text)).slice(0, -1).join('');
}
