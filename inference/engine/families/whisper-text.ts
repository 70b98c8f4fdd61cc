const CHINESE_DIGITS = '零一二三四五六七八九';
/**
 * Pieces are the text if they say this much more than the whole. Of 200 recordings of several sentences, 2
 * lost one instead of 41.
 */
const MORE_SYLLABLES = 3;
const MORE_SHARE = 1.15;
/**
 * Of the syllables of one voice: a sentence that was really said twice had at most 4.4 a second, one that was
 * not at least 4.8.
 */
const MAX_SYLLABLES_PER_SECOND = 4.6;
const BEGINS_MARKED = /^\p{Punctuation}/u;
const ENDS_MARKED = /\p{Punctuation}$/u;

/** A piece of a recording, decoded by itself. */
export interface DecodedPiece {
  /** Empty if it says nothing. */
  readonly text: string;
  readonly seconds: number;
}

/** A letter or digit of a text, and where it ends there. */
interface Letter {
  /** Lower case; digits as Chinese ones. */
  readonly sound: string;
  readonly end: number;
}

/**
 * The text of a recording, by its whole and its pieces. Over pauses Whisper loses sentences, or says them
 * again: then the pieces are right. Where nothing is wrong, the whole is: it was decoded with more context
 * and a wider search.
 */
export function settledText(whole: string, pieces: readonly DecodedPiece[]): string {
  const texts = pieces.map(({ text }) => (pieces.length > 1 ? oneCopy(text) : text));
  const joined = joinPieces(texts);
  const [syllables, wholeSyllables] = [countSyllables(joined), countSyllables(whole)];
  if (
    pieces.length > 1 &&
    syllables >= Math.max(wholeSyllables + MORE_SYLLABLES, MORE_SHARE * wholeSyllables)
  )
    return joined;
  const seconds = pieces.reduce((sum, piece) => sum + piece.seconds, 0);
  const isTooFast = wholeSyllables > MAX_SYLLABLES_PER_SECOND * seconds;
  if (joined !== '' && isTooFast && syllables <= wholeSyllables - MORE_SYLLABLES && saysAgain(whole)) {
    const copy = oneCopy(whole);
    return Math.abs(countSyllables(copy) - syllables) < MORE_SYLLABLES ? copy : joined;
  }
  return texts.reduce((text, piece, i) => withStop(text, texts[i - 1] ?? '', piece), whole);
}

/** Puts a full stop between two pieces where there is no mark. */
export function joinPieces(texts: readonly string[]): string {
  const said = texts.filter((text) => text !== '');
  return said.reduce(
    (before, text) => (before === '' || ENDS_MARKED.test(before) ? before + text : `${before}。${text}`),
    '',
  );
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
 * A short piece is sometimes said twice (打开maps打开maps): cut if the same letters come again and again from its
 * start on, 1.4 times or more.
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
 * Puts a full stop where one piece ends and the next begins, if the text has the letters of both there, once,
 * and no mark between them.
 */
function withStop(text: string, before: string, behind: string): string {
  const [last, first] = [lettersOf(before).at(-1)?.sound, lettersOf(behind)[0]?.sound];
  const letters = lettersOf(text);
  const isJoint = ({ sound }: Letter, at: number): boolean =>
    sound === last && letters[at + 1]?.sound === first;
  const [joint, ...others] = letters.filter(isJoint);
  if (joint === undefined || first === undefined || others.length > 0) return text;
  const rest = text.slice(joint.end).trimStart();
  return BEGINS_MARKED.test(rest) ? text : `${text.slice(0, joint.end)}。${rest}`;
}

function countSyllables(text: string): number {
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
