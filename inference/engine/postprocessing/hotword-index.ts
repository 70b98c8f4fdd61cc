import type { Hotword } from './hotword-list.ts';
import { type Replacement, replaced } from './judge.ts';
import { type SpokenForm, spokenForm } from './spoken-form.ts';
import { distance, type Syllable, syllablesOf } from './syllables.ts';

/** A stretch of a text that sounds like a listed phrase. */
export interface Candidate extends Replacement {
  /** Of the phrase, as it is spoken. */
  readonly characters: number;
  /** How many of them stay. */
  readonly kept: number;
  /** Nats a character. */
  readonly score: number;
  /** 0 if every syllable is near; 1 if one is half as near, 2 if one is another. */
  readonly rank: 0 | 1 | 2;
}

interface Entry {
  readonly hotword: Hotword;
  readonly spoken: string;
  readonly syllables: readonly Syllable[];
}

/** A stretch of a spoken text. */
interface Window {
  readonly start: number;
  readonly end: number;
}

const HAN = /\p{Script=Han}/u;
const CHINESE_RUNS = /[^ ]+/g;
const WORD = '[\\p{Script=Latin}\\p{Number}]';
/** Capital and full-width letters, full-width digits. */
const NOT_FOLDED = /[A-Z\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/g;
const FULL_WIDTH_OFFSET = 0xfee0;

/** Finds listed phrases in a text: Chinese ones by their sound, others by their letters. */
export class HotwordIndex {
  /** By length, place 0 or 1, and the class of the syllable there: at most one syllable of a candidate is not near. */
  readonly #bySound = new Map<string, Entry[]>();
  /** By their spoken form. */
  readonly #phrases = new Map<string, string>();
  readonly #lengths = new Set<number>();
  readonly #spellings = new Map<string, string>();
  readonly #spelled: RegExp | undefined;

  constructor(hotwords: readonly Hotword[]) {
    for (const hotword of hotwords) {
      const { characters } = spokenForm(folded(hotword.phrase));
      if (HAN.test(hotword.phrase) && !characters.includes(' ')) this.#addBySound(hotword, characters);
      else this.#spellings.set(folded(hotword.phrase), hotword.phrase);
    }
    if (this.#spellings.size === 0) return;
    const longestFirst = [...this.#spellings.keys()].sort((a, b) => b.length - a.length);
    const words = longestFirst.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
    this.#spelled = new RegExp(`(?<!${WORD})(?:${words.join('|')})(?!${WORD})`, 'gu');
  }

  /**
   * Writes words as the list has them: those that are not Chinese alone, whatever their case and width;
   * numbers, whether in digits or in characters; names with a middle dot.
   */
  spelled(text: string): string {
    let written = text;
    if (this.#spelled !== undefined) {
      const found = folded(text).matchAll(this.#spelled);
      const words = Array.from(found, ({ 0: word, index }) => ({
        start: index,
        end: index + word.length,
        written: this.#spellings.get(word) ?? word,
      }));
      written = replaced(text, words);
    }
    const form = spokenForm(folded(written));
    const same = this.#runs(form).flatMap(({ windows }) =>
      windows.flatMap((window) => {
        const phrase = this.#phrases.get(form.characters.slice(window.start, window.end));
        return phrase === undefined ? [] : [{ ...placeIn(form, window), written: phrase }];
      }),
    );
    return replaced(written, withoutOverlap(same.sort((x, y) => y.end - y.start - (x.end - x.start))));
  }

  /** The nearest first. Each leaves the listed phrases alone that stand in the text. */
  candidates(text: string): Candidate[] {
    const form = spokenForm(folded(text));
    const found = this.#runs(form).flatMap(({ start, end, windows }) =>
      this.#inRun(form, form.characters.slice(start, end), start, windows),
    );
    return found.sort((a, b) => a.rank - b.rank);
  }

  #addBySound(hotword: Hotword, spoken: string): void {
    const entry = { hotword, spoken, syllables: syllablesOf(spoken) };
    const { length } = spoken;
    if (!this.#phrases.has(spoken)) this.#phrases.set(spoken, hotword.phrase);
    this.#lengths.add(length);
    for (const place of [0, 1]) {
      const key = keyOf(entry.syllables, 0, length, place);
      const entries = this.#bySound.get(key);
      if (entries === undefined) this.#bySound.set(key, [entry]);
      else entries.push(entry);
    }
  }

  /** Chinese without a gap, and the stretches of it that are as long as a phrase and cut no number. */
  #runs({ characters, places }: SpokenForm): (Window & { readonly windows: readonly Window[] })[] {
    const isWithinNumber = (at: number): boolean => at > 0 && places[at - 1] === places[at];
    return Array.from(characters.matchAll(CHINESE_RUNS), ({ 0: run, index }) => {
      const windows = [...this.#lengths].flatMap((length) =>
        Array.from({ length: Math.max(0, run.length - length + 1) }, (_, i) => ({
          start: index + i,
          end: index + i + length,
        })),
      );
      const whole = windows.filter(({ start, end }) => !isWithinNumber(start) && !isWithinNumber(end));
      return { start: index, end: index + run.length, windows: whole };
    });
  }

  #inRun(form: SpokenForm, run: string, offset: number, windows: readonly Window[]): Candidate[] {
    const syllables = syllablesOf(run);
    const standing = windows.filter(({ start, end }) => this.#phrases.has(form.characters.slice(start, end)));
    return windows.flatMap((window) => {
      const [start, end] = [window.start - offset, window.end - offset];
      const keepsStanding = (phrase: string): boolean => {
        const changed = run.slice(0, start) + phrase + run.slice(end);
        return standing.every((other) => {
          const [from, to] = [other.start - offset, other.end - offset];
          return changed.slice(from, to) === run.slice(from, to);
        });
      };
      const spoken = syllables.slice(start, end);
      const entries = [0, 1].flatMap((place) => this.#bySound.get(keyOf(syllables, start, end, place)) ?? []);
      return [...new Set(entries)].flatMap((entry) => {
        const rank = rankOf(spoken, entry.syllables);
        if (rank === undefined || entry.spoken === run.slice(start, end) || !keepsStanding(entry.spoken))
          return [];
        const kept = Array.from(entry.spoken).filter((character, i) => character === run[start + i]).length;
        const { phrase, score } = entry.hotword;
        return [{ ...placeIn(form, window), written: phrase, characters: end - start, kept, score, rank }];
      });
    });
  }
}

function placeIn({ places }: SpokenForm, { start, end }: Window): Window {
  return { start: places[start]?.start ?? 0, end: places[end - 1]?.end ?? 0 };
}

/** Of those that overlap, the first. */
export function withoutOverlap<T extends Window>(found: readonly T[]): T[] {
  const taken: T[] = [];
  for (const each of found)
    if (!taken.some((other) => each.start < other.end && other.start < each.end)) taken.push(each);
  return taken;
}

function keyOf(syllables: readonly Syllable[], start: number, end: number, place: number): string {
  const { initialClass, finalClass } = syllables[start + place] ?? { initialClass: '', finalClass: '' };
  return `${end - start} ${place} ${initialClass} ${finalClass}`;
}

/**
 * @returns undefined if they are too far apart: from three syllables on one may be half as near, from four on
 * one may be another.
 */
function rankOf(spoken: readonly Syllable[], listed: readonly Syllable[]): Candidate['rank'] | undefined {
  const distances = spoken.map((syllable, i) => distance(syllable, listed[i] ?? syllable));
  const [far, ...more] = distances.filter((each) => each !== 'near');
  if (far === undefined) return 0;
  if (more.length > 0) return undefined;
  if (far === 'half') return spoken.length >= 3 ? 1 : undefined;
  return spoken.length >= 4 ? 2 : undefined;
}

/** Small ASCII letters and digits for capital and full-width ones. The length stays. */
function folded(text: string): string {
  return text.replace(NOT_FOLDED, (sign) =>
    String.fromCharCode(sign.charCodeAt(0) - (sign > '\uff00' ? FULL_WIDTH_OFFSET : 0)).toLowerCase(),
  );
}
