import { type Arc, bestPath, ownWords, textCost } from './best-path.ts';
import { type Alternative, type Judge, type Replacement, replaced } from './judge.ts';
import type { LanguageModel, Sound } from './language-model.ts';

/** Of the language model, against a changed character: it must gain 2.5 nats for each. */
const PATH_WEIGHT = 0.4;
const CHANGE_COST = 1;
/** Of the language model, against the recognizer. From 0.6 on, more texts become worse: 27 of 402 at 0.8 instead of 15. */
const JUDGED_WEIGHT = 0.5;
/** A reading that the recognizer holds for possible costs this share of what it is less likely by. */
const ALTERNATIVE_WEIGHT = 0.4;
/** The most frequent ones of a sound. */
const MAX_WORDS = 30;
const MAX_JUDGED = 8;
/** Whatever the language model says of them: 一三八零八五五三三一六 became …三十六. */
const NUMBERS = /[零一二三四五六七八九幺十百千万亿点两]{3,}/g;
const CHINESE = /[\u4e00-\u9fff]/;

/** By syllable, what it costs, in nats. */
type Sounds = ReadonlyMap<number, number>;

/**
 * Lets a language model propose what sounds like a text, and the recognizer decide. Measured on 402 recordings: of
 * 100 characters 12.2 are wrong instead of 15.7, and none of 82 texts that were right became wrong.
 */
export class LanguageCorrector {
  readonly #model: LanguageModel;

  constructor(model: LanguageModel) {
    this.#model = model;
  }

  /** @throws as the judge */
  async corrected(text: string, judge: Judge): Promise<string> {
    if (!CHINESE.test(text)) return text;
    const [own] = await judge([text]);
    const candidate = this.proposed(text, own?.alternatives ?? []);
    if (own === undefined || candidate === text) return text;
    const variants = variantsOf(text, candidate);
    const judged = await judge(variants);
    let [best, most] = [text, own.nats - JUDGED_WEIGHT * textCost(this.#model, text)];
    for (const [i, variant] of variants.entries()) {
      const nats =
        (judged[i]?.nats ?? Number.NEGATIVE_INFINITY) - JUDGED_WEIGHT * textCost(this.#model, variant);
      if (nats > most) [best, most] = [variant, nats];
    }
    return best;
  }

  /** The text of the same sound that the language model likes best. @param alternatives by place */
  proposed(text: string, alternatives: readonly (readonly Alternative[])[]): string {
    const numbers = Array.from(text.matchAll(NUMBERS), ({ 0: { length }, index }) => ({
      start: index,
      end: index + length,
    }));
    const isNumber = (at: number): boolean => numbers.some(({ start, end }) => start <= at && at < end);
    const characters = text.split('');
    const fixed = characters.map((_, at) => isNumber(at));
    const sounds = characters.map((character, at) =>
      this.#sounds(character, fixed[at] ? [] : (alternatives[at] ?? [])),
    );
    const arcsAt = (run: string, at: number, offset: number): Arc[] => [
      ...ownWords(this.#model, run, at),
      ...this.#sameSound(run, at, sounds.slice(offset, offset + run.length), fixed.slice(offset)),
    ];
    return bestPath(this.#model, text, arcsAt, PATH_WEIGHT).text;
  }

  #sounds(character: string, alternatives: readonly Alternative[]): Sounds {
    const costs = new Map(this.#model.syllablesOf(character).map((syllable) => [syllable, 0]));
    for (const alternative of alternatives) {
      const cost = ALTERNATIVE_WEIGHT * Math.max(0, alternative.nats);
      for (const syllable of this.#model.syllablesOf(alternative.character))
        costs.set(syllable, Math.min(cost, costs.get(syllable) ?? cost));
    }
    return costs;
  }

  #sameSound(run: string, at: number, sounds: readonly Sounds[], fixed: readonly boolean[]): Arc[] {
    const found: Arc[] = [];
    let heard: { readonly sound: Sound; readonly cost: number }[] = [
      { sound: this.#model.allSounds, cost: 0 },
    ];
    for (let end = at; end < run.length && heard.length > 0; end++) {
      const next = [...(sounds[end] ?? [])];
      heard = heard.flatMap(({ sound, cost }) =>
        next.flatMap(([syllable, more]) => {
          const longer = this.#model.followedBy(sound, syllable);
          return longer === undefined ? [] : [{ sound: longer, cost: cost + more }];
        }),
      );
      for (const { sound, cost } of heard) {
        for (const word of this.#model.wordsOf(sound, MAX_WORDS)) {
          const written = this.#model.textOf(word);
          const changed = Array.from(written, (character, i) => character !== run[at + i]);
          if (changed.some((isChanged, i) => isChanged && fixed[at + i])) continue;
          const changes = changed.filter(Boolean).length;
          if (changes > 0) found.push({ word, written, cost: cost + CHANGE_COST * changes });
        }
      }
    }
    return found;
  }
}

/** The whole candidate; of several places that it changes, each alone, and each left out. */
function variantsOf(text: string, candidate: string): string[] {
  const places: Replacement[] = [];
  for (let start = 0; start < text.length; start++) {
    let end = start;
    while (end < text.length && text[end] !== candidate[end]) end++;
    if (end > start) places.push({ start, end, written: candidate.slice(start, end) });
    start = end;
  }
  const variants = [
    places,
    ...places.map((place) => [place]),
    ...places.map((place) => places.filter((other) => other !== place)),
  ].map((chosen) => replaced(text, chosen));
  return [...new Set(variants)].filter((variant) => variant !== text).slice(0, MAX_JUDGED);
}
