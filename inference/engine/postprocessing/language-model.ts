import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { modelFolders } from '../../../models/store/store.ts';
import { errorText } from '../text/error-text.ts';

const MAGIC = Buffer.from('ZHLM').readUInt32LE();
const VERSION = 1;
const FOREIGN = 'it is no language model of this service';
const HEADER_VALUES = 8;
/** The file counts in 1/32 of decimal logarithms. */
const NATS = Math.LN10 / 32;
/** More than the file has. */
const UNPACKED_BYTES = 16 * 1024 * 1024;
const SCORE_BITS = 8;
const SCORE_MASK = 255;

/** Readings that begin with the same syllables. */
export interface Sound {
  readonly first: number;
  /** Behind the last one. */
  readonly end: number;
  readonly syllables: number;
}

/** What stands before a sentence, and behind what is no Chinese word: nothing is known of it. */
export const NO_WORD = -1;

/** Chinese words with their readings, and how likely a word is behind another one. */
export class LanguageModel {
  readonly allSounds: Sound;
  /** Of the word for what is in no list. */
  readonly unknownWord: number;
  /** Characters of the longest word. */
  readonly longestWord: number;
  readonly #characters: string;
  readonly #wordStarts: Uint32Array;
  /** Negative logarithms, in the file's unit. */
  readonly #wordCosts: Uint8Array;
  readonly #backOffCosts: Uint8Array;
  /** By first word, where its bigrams begin. In each stand the second word, in rising order, and the cost. */
  readonly #bigramStarts: Uint32Array;
  readonly #bigrams: Uint32Array;
  /** In the order of their syllables. */
  readonly #readingWords: Uint32Array;
  readonly #syllableStarts: Uint32Array;
  readonly #syllables: Uint16Array;
  readonly #syllablesOf = new Map<string, number[]>();
  /** Open addressing; 0 is free, else a word and one. */
  readonly #table: Uint32Array;

  /**
   * @param bytes as `models/bundled/language/pack.py` writes them, unpacked.
   * @throws Error when they are others
   */
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    let at = 0;
    const take = (count: number, width: 1 | 2 | 4): Uint8Array<ArrayBuffer> => {
      const section = bytes.subarray(at, at + count * width);
      if (section.length < count * width) throw new Error(FOREIGN);
      at += section.length;
      return section;
    };
    const bytesOf = (count: number): Uint8Array => new Uint8Array(take(count, 1));
    const integers = (count: number): Uint32Array => new Uint32Array(new Uint8Array(take(count, 4)).buffer);
    const [magic, version, words = 0, characters = 0, readings = 0, syllables = 0, bigrams = 0, names = 0] =
      integers(HEADER_VALUES);
    if (magic !== MAGIC || version !== VERSION) throw new Error(FOREIGN);
    take(names, 1);
    this.#wordStarts = startsOf(take(words, 1));
    this.#characters = Buffer.from(take(characters, 2)).toString('utf16le');
    this.#wordCosts = bytesOf(words);
    this.#backOffCosts = bytesOf(words);
    this.#readingWords = integers(readings);
    this.#syllables = new Uint16Array(new Uint8Array(take(syllables, 2)).buffer);
    this.#bigramStarts = startsOf(integers(words));
    const [low, middle, high, costs] = [
      take(bigrams, 1),
      take(bigrams, 1),
      take(bigrams, 1),
      take(bigrams, 1),
    ];
    this.#syllableStarts = startsOf(this.#readingWords.map((word) => this.#lengthOf(word)));
    const sums = [this.#wordStarts, this.#bigramStarts, this.#syllableStarts].map((starts) => starts.at(-1));
    const isWhole = at === bytes.length && sums.join() === [characters, bigrams, syllables].join();
    if (!isWhole) throw new Error(FOREIGN);
    this.#bigrams = bigramsOf(this.#bigramStarts, low, middle, high, costs);
    this.allSounds = { first: 0, end: readings, syllables: 0 };
    this.unknownWord = words - 1;
    this.#table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * words + 1)));
    let longest = 0;
    for (let word = 0; word < words; word++) {
      const text = this.textOf(word);
      longest = Math.max(longest, text.length);
      this.#table[this.#placeOf(text)] = word + 1;
    }
    this.longestWord = longest;
    for (let reading = 0; reading < readings; reading++) {
      const character = this.textOf(this.#readingWords[reading] ?? 0);
      if (character.length !== 1) continue;
      const syllable = this.#syllables[this.#syllableStarts[reading] ?? 0] ?? 0;
      this.#syllablesOf.set(character, [...(this.#syllablesOf.get(character) ?? []), syllable]);
    }
  }

  textOf(word: number): string {
    return this.#characters.slice(this.#wordStarts[word], this.#wordStarts[word + 1]);
  }

  /** @returns undefined if it is in no list. */
  wordOf(text: string): number | undefined {
    const entry = this.#table[this.#placeOf(text)] ?? 0;
    return entry === 0 ? undefined : entry - 1;
  }

  /** How a character is read. Those of which there are several are in no order. */
  syllablesOf(character: string): readonly number[] {
    return this.#syllablesOf.get(character) ?? [];
  }

  /** @returns undefined if no word begins so. */
  followedBy({ first, end, syllables }: Sound, syllable: number): Sound | undefined {
    const from = this.#firstReading(first, end, syllables, syllable);
    const behind = this.#firstReading(from, end, syllables, syllable + 1);
    return from === behind ? undefined : { first: from, end: behind, syllables: syllables + 1 };
  }

  /** Words that have these syllables and no more, the most frequent first. @param most of them */
  wordsOf({ first, end, syllables }: Sound, most: number): readonly number[] {
    let behind = first;
    while (behind < end && behind < first + most && this.#readingLength(behind) === syllables) behind++;
    return Array.from(this.#readingWords.subarray(first, behind));
  }

  /** How unlikely a word is behind another, in nats. */
  cost(previous: number, word: number): number {
    const alone = this.#wordCosts[word] ?? SCORE_MASK;
    if (previous === NO_WORD) return NATS * alone;
    const end = this.#bigramStarts[previous + 1] ?? 0;
    let from = this.#bigramStarts[previous] ?? 0;
    let behind = end;
    while (from < behind) {
      const middle = (from + behind) >>> 1;
      if ((this.#bigrams[middle] ?? 0) >>> SCORE_BITS < word) from = middle + 1;
      else behind = middle;
    }
    const bigram = from < end ? (this.#bigrams[from] ?? 0) : 0;
    const isFound = from < end && bigram >>> SCORE_BITS === word;
    return NATS * (isFound ? bigram & SCORE_MASK : (this.#backOffCosts[previous] ?? 0) + alone);
  }

  #lengthOf(word: number): number {
    return (this.#wordStarts[word + 1] ?? 0) - (this.#wordStarts[word] ?? 0);
  }

  #readingLength(reading: number): number {
    return (this.#syllableStarts[reading + 1] ?? 0) - (this.#syllableStarts[reading] ?? 0);
  }

  /** The first of some readings whose syllable at a place is this one, or comes behind it. Shorter ones are the first. */
  #firstReading(first: number, end: number, place: number, syllable: number): number {
    let from = first;
    let behind = end;
    while (from < behind) {
      const middle = (from + behind) >>> 1;
      const isShort = this.#readingLength(middle) <= place;
      const found = this.#syllables[(this.#syllableStarts[middle] ?? 0) + place] ?? 0;
      if (isShort || found < syllable) from = middle + 1;
      else behind = middle;
    }
    return from;
  }

  /** In the table: of the word, or free. */
  #placeOf(text: string): number {
    const mask = this.#table.length - 1;
    let place = 0;
    for (let i = 0; i < text.length; i++)
      place = Math.imul(place ^ text.charCodeAt(i), 0x9e3779b1) ^ (place >>> 15);
    for (place &= mask; ; place = (place + 1) & mask) {
      const entry = this.#table[place] ?? 0;
      if (entry === 0 || this.textOf(entry - 1) === text) return place;
    }
  }
}

function startsOf(lengths: Uint8Array | Uint32Array): Uint32Array {
  const starts = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = (starts[i] ?? 0) + (lengths[i] ?? 0);
  return starts;
}

/** Second word and cost of each, in one number. */
function bigramsOf(
  starts: Uint32Array,
  low: Uint8Array,
  middle: Uint8Array,
  high: Uint8Array,
  costs: Uint8Array,
): Uint32Array {
  const bigrams = new Uint32Array(costs.length);
  for (let first = 0; first + 1 < starts.length; first++) {
    let second = 0;
    for (let i = starts[first] ?? 0; i < (starts[first + 1] ?? 0); i++) {
      second += (low[i] ?? 0) | ((middle[i] ?? 0) << 8) | ((high[i] ?? 0) << 16);
      bigrams[i] = (second << SCORE_BITS) | (costs[i] ?? 0);
    }
  }
  return bigrams;
}

/** @throws Error when the file cannot be read, or is another one. */
export async function readLanguageModel(path = defaultPath()): Promise<LanguageModel> {
  // In one piece: of 700 small ones the memory would stay taken.
  const bytes = await promisify(gunzip)(await readFile(path), { chunkSize: UNPACKED_BYTES });
  return new LanguageModel(bytes);
}

/** @returns undefined if it cannot be used; then `log` is told why. */
export async function loadLanguageModel(
  log: (line: string) => void,
  path = defaultPath(),
): Promise<LanguageModel | undefined> {
  return readLanguageModel(path).catch((cause: unknown) => {
    log(`${path}: ${errorText(cause)}; texts stay as the recognizer gives them, with more wrong characters`);
    return undefined;
  });
}

/** It lies with the bundled model's files, in a folder with its own licence. Every Whisper uses it. */
function defaultPath(): string {
  return join(modelFolders().bundled, 'language', 'chinese.lm.gz');
}
