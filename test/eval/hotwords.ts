import { readFile } from 'node:fs/promises';
import { messageOf } from '../../common/errors/errors.ts';
import { type HotwordList, parseHotwords } from '../../inference/engine/postprocessing/hotword-list.ts';
import { spokenCharacters } from './error-rate.ts';

/** What was said in a recording, and what was heard without the list and with it. */
interface Comparison {
  readonly truth: string;
  readonly before: string;
  readonly after: string;
}

/** Sums over phrases and recordings. */
interface HotwordFigures {
  /** How often the phrases were said. */
  readonly said: number;
  /** How often they were said and heard: without the list, and with it. */
  readonly rightBefore: number;
  readonly rightAfter: number;
  /** How often they are right without the list, and not with it. */
  readonly lost: number;
  /** How often they are heard with the list and were not said. */
  readonly falseAfter: number;
}

/** @throws if it cannot be read, or is not UTF-8; the message names it. */
export async function readHotwords(path: string): Promise<HotwordList> {
  try {
    return parseHotwords(new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path)));
  } catch (error) {
    const fault = `${path} cannot be read (${messageOf(error)})`;
    throw new Error(`${fault}: name a file in UTF-8 with one phrase a line`, { cause: error });
  }
}

/** Counts in what `spokenCharacters` leaves of phrases and texts. Phrases of which it leaves the same are one. */
export function countHotwords(phrases: readonly string[], texts: readonly Comparison[]): HotwordFigures {
  const sum = { said: 0, rightBefore: 0, rightAfter: 0, lost: 0, falseAfter: 0 };
  const spokenPhrases = new Set(phrases.map(spoken));
  for (const text of texts) {
    const [truth, before, after] = [spoken(text.truth), spoken(text.before), spoken(text.after)];
    for (const phrase of spokenPhrases) {
      const [said, heard] = [times(phrase, truth), times(phrase, after)];
      const [rightBefore, rightAfter] = [Math.min(said, times(phrase, before)), Math.min(said, heard)];
      sum.said += said;
      sum.rightBefore += rightBefore;
      sum.rightAfter += rightAfter;
      sum.lost += Math.max(0, rightBefore - rightAfter);
      sum.falseAfter += Math.max(0, heard - said);
    }
  }
  return sum;
}

const spoken = (text: string): string => spokenCharacters(text).join('');

const times = (phrase: string, text: string): number => text.split(phrase).length - 1;
