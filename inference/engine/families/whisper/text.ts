import type { Judge } from '../../postprocessing/judge.ts';

const CHINESE_DIGITS = '零一二三四五六七八九';
/**
 * Pieces are the text if they say this much more than the whole. Of 200 recordings of several sentences, 2
 * lost one instead of 41.
 */
const MORE_SYLLABLES = 3;
const MORE_SHARE = 1.15;
/**
 * Syllables a second of speech. 82 recordings have 3.15 to 5.02, fast speakers to 6.6: a text above the second was not
 * said. Above the first, another sign is asked for.
 */
export const [FAST, TOO_FAST] = [5, 7];
/**
 * log p(text with the stop) − log p(text without). Of 22 stops at the end of a sentence, 10 lie above it, and 2 of 22
 * within one.
 */
const MIN_STOP_NATS = -3;
const BEGINS_MARKED = /^\p{Punctuation}/u;
const END_MARKS = /[。，、！？；：…,.!?;:\s]+$/;
/** A Latin letter or a digit: a blank keeps it from the next one. */
const ENDS_NARROW = /[a-z0-9]$/i;
const BEGINS_NARROW = /^[a-z0-9]/i;
const DIGIT = new RegExp(`[${CHINESE_DIGITS}]`);

/** A piece of a recording, decoded by itself. */
export interface DecodedPiece {
  /** Empty if it says nothing. */
  readonly text: string;
  /** Of speech in it. */
  readonly seconds: number;
}

/** A letter or digit of a text, and where it ends there. */
interface Letter {
  /** Lower case; digits as Chinese ones. */
  readonly sound: string;
  readonly end: number;
}

/**
 * The text of a recording, by its whole and its pieces, two or more. Over pauses Whisper loses sentences, or says them
 * again: then the pieces are right. Where nothing is wrong, the whole is: it was decoded with more context
 * and a wider search.
 */
export function settledText(whole: string, pieces: readonly DecodedPiece[]): string {
  // What a piece says again is no sign that the whole has lost something.
  const syllables = countSyllables(pieces.map(({ text }) => oneCopy(text)).join(''));
  const wholeSyllables = countSyllables(whole);
  const hasLost = syllables >= Math.max(wholeSyllables + MORE_SYLLABLES, MORE_SHARE * wholeSyllables);
  const seconds = pieces.reduce((sum, piece) => sum + piece.seconds, 0);
  const isAgain =
    wholeSyllables > FAST * seconds &&
    syllables > 0 &&
    syllables <= wholeSyllables - MORE_SYLLABLES &&
    saysAgain(whole);
  if (!hasLost && !isAgain) return whole;
  return joinPieces(
    pieces.map(({ text, seconds }) => {
      const isTooFast = countSyllables(text) > TOO_FAST * seconds;
      return isTooFast && !DIGIT.test(soundsOf(text)) ? oneCopy(text) : text;
    }),
  );
}

/**
 * Puts pieces one behind the other. A pause is no end of a sentence, and the mark that a piece ends with is a guess: the
 * next one had not been heard.
 */
export function joinPieces(texts: readonly string[]): string {
  return texts.reduce((before, text) => {
    if (before === '' || text === '') return before + text;
    const open = before.replace(END_MARKS, '');
    return ENDS_NARROW.test(open) && BEGINS_NARROW.test(text) ? `${open} ${text}` : open + text;
  }, '');
}

/** Whether four letters in a row, not all alike, come again further on. */
export function saysAgain(text: string): boolean {
  const sounds = soundsOf(text);
  for (let at = 0; at + 8 <= sounds.length; at++) {
    const four = sounds.slice(at, at + 4);
    if (new Set(four).size > 2 && sounds.includes(four, at + 4)) return true;
  }
  return false;
}

/**
 * A short piece is sometimes said twice (打开maps打开maps): one copy if the same letters come again and again from
 * its start on, 1.4 times or more.
 */
function oneCopy(text: string): string {
  const letters = lettersOf(text);
  for (let period = 3; 1.4 * period <= letters.length; period++) {
    if (letters.every(({ sound }, at) => at < period || sound === letters[at - period]?.sound))
      return text.slice(0, letters[period - 1]?.end);
  }
  return text;
}

/**
 * Puts a full stop where one piece ends and the next begins, if there is no mark, and the judge agrees.
 * @throws as the judge
 */
export async function withStops(text: string, pieces: readonly string[], judge: Judge): Promise<string> {
  const places = jointsWithoutMark(text, pieces);
  if (places.length === 0) return text;
  const [without, ...withOne] = await judge([text, ...places.map((at) => withStop(text, at))]);
  return places
    .filter((_, i) => (withOne[i]?.nats ?? Number.NEGATIVE_INFINITY) - (without?.nats ?? 0) > MIN_STOP_NATS)
    .reduceRight(withStop, text);
}

/** @param at behind a letter. */
function withStop(text: string, at: number): string {
  return `${text.slice(0, at)}。${text.slice(at).trimStart()}`;
}

/**
 * Where one piece ends and the next begins in a text, if it has the letters of both there, once. Between two digits there is
 * no such place: a number may go on.
 */
function jointsWithoutMark(text: string, pieces: readonly string[]): number[] {
  const letters = lettersOf(text);
  return pieces.flatMap((piece, i) => {
    const [last, first] = [lettersOf(pieces[i - 1] ?? '').at(-1)?.sound, lettersOf(piece)[0]?.sound];
    if (last === undefined || first === undefined || (DIGIT.test(last) && DIGIT.test(first))) return [];
    const [joint, ...others] = letters.filter(
      ({ sound }, at) => sound === last && letters[at + 1]?.sound === first,
    );
    if (joint === undefined || others.length > 0) return [];
    return BEGINS_MARKED.test(text.slice(joint.end).trimStart()) ? [] : [joint.end];
  });
}

/** A Latin letter is less than one. */
export function countSyllables(text: string): number {
  return Array.from(soundsOf(text)).reduce((sum, sound) => sum + (/[a-z]/.test(sound) ? 0.4 : 1), 0);
}

function soundsOf(text: string): string {
  return lettersOf(text)
    .map(({ sound }) => sound)
    .join('');
}

function lettersOf(text: string): Letter[] {
  return [...text.matchAll(/[\p{Letter}\p{Number}]/gu)].map(({ 0: letter, index }) => ({
    sound: /\d/.test(letter) ? CHINESE_DIGITS.charAt(Number(letter)) : letter.toLowerCase(),
    end: index + letter.length,
  }));
}
