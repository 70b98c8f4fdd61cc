import type { Hotword } from './hotword-list.ts';
import { distance, type Syllable, syllablesOf } from './syllables.ts';

/** A stretch of a text that sounds like a listed phrase. */
export interface Candidate {
  readonly start: number;
  readonly end: number;
  readonly hotword: Hotword;
  /** 0 if every syllable is near; 1 if one is half as near, 2 if one is another. */
  readonly rank: 0 | 1 | 2;
}

interface Entry {
  readonly hotword: Hotword;
  readonly syllables: readonly Syllable[];
}

const CHINESE = /^[\u4e00-\u9fff]+$/;
const CHINESE_RUNS = /[\u4e00-\u9fff]+/g;
const WORD = '[\\p{Script=Latin}\\p{Number}]';
/** Capital and full-width letters, full-width digits. */
const NOT_FOLDED = /[A-Z\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/g;
const FULL_WIDTH_OFFSET = 0xfee0;

/** Finds listed phrases in a text: Chinese ones by their sound, others by their letters. */
export class HotwordIndex {
  /** By length, place 0 or 1, and the class of the syllable there: at most one syllable of a candidate is not near. */
  readonly #bySound = new Map<string, Entry[]>();
  readonly #phrases = new Set<string>();
  readonly #lengths = new Set<number>();
  readonly #spellings = new Map<string, string>();
  readonly #spelled: RegExp | undefined;

  constructor(hotwords: readonly Hotword[]) {
    for (const hotword of hotwords) {
      if (CHINESE.test(hotword.phrase)) this.#addBySound(hotword);
      else this.#spellings.set(folded(hotword.phrase), hotword.phrase);
    }
    if (this.#spellings.size === 0) return;
    const longestFirst = [...this.#spellings.keys()].sort((a, b) => b.length - a.length);
    const words = longestFirst.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
    this.#spelled = new RegExp(`(?<!${WORD})(?:${words.join('|')})(?!${WORD})`, 'gu');
  }

  /** Writes the words that are not Chinese alone as the list has them, whatever their case and width. */
  spelled(text: string): string {
    if (this.#spelled === undefined) return text;
    let written = '';
    let next = 0;
    for (const { 0: word, index } of folded(text).matchAll(this.#spelled)) {
      written += text.slice(next, index) + (this.#spellings.get(word) ?? word);
      next = index + word.length;
    }
    return written + text.slice(next);
  }

  /** The nearest first. Each leaves the listed phrases alone that stand in the text. */
  candidates(text: string): Candidate[] {
    const runs = [...text.matchAll(CHINESE_RUNS)];
    const found = runs.flatMap(({ 0: run, index }) => this.#inRun(run, index));
    return found.sort((a, b) => a.rank - b.rank);
  }

  #addBySound(hotword: Hotword): void {
    const entry = { hotword, syllables: syllablesOf(hotword.phrase) };
    const { length } = entry.syllables;
    this.#phrases.add(hotword.phrase);
    this.#lengths.add(length);
    for (const place of [0, 1]) {
      const key = keyOf(entry.syllables, 0, length, place);
      const entries = this.#bySound.get(key);
      if (entries === undefined) this.#bySound.set(key, [entry]);
      else entries.push(entry);
    }
  }

  #inRun(run: string, offset: number): Candidate[] {
    const syllables = syllablesOf(run);
    const windows = [...this.#lengths].flatMap((length) =>
      Array.from({ length: Math.max(0, run.length - length + 1) }, (_, start) => ({
        start,
        end: start + length,
      })),
    );
    const standing = windows.filter(({ start, end }) => this.#phrases.has(run.slice(start, end)));
    return windows.flatMap(({ start, end }) => {
      const keepsStanding = (phrase: string): boolean => {
        const changed = run.slice(0, start) + phrase + run.slice(end);
        return standing.every(
          (other) => changed.slice(other.start, other.end) === run.slice(other.start, other.end),
        );
      };
      const spoken = syllables.slice(start, end);
      const entries = [0, 1].flatMap((place) => this.#bySound.get(keyOf(syllables, start, end, place)) ?? []);
      return [...new Set(entries)].flatMap((entry) => {
        const rank = rankOf(spoken, entry.syllables);
        const { phrase } = entry.hotword;
        if (rank === undefined || phrase === run.slice(start, end) || !keepsStanding(phrase)) return [];
        return [{ start: offset + start, end: offset + end, hotword: entry.hotword, rank }];
      });
    });
  }
}

export function overlap(a: Pick<Candidate, 'start' | 'end'>, b: Pick<Candidate, 'start' | 'end'>): boolean {
  return a.start < b.end && b.start < a.end;
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
