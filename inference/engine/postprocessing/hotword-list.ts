/** A phrase that the service is to recognize (热词), and how much it is preferred. */
export interface Hotword {
  readonly phrase: string;
  /** Nats a character. */
  readonly score: number;
}

export interface HotwordList {
  readonly hotwords: readonly Hotword[];
  /** By reason, the numbers of the lines that are not used. */
  readonly ignored: Readonly<Record<string, readonly number[]>>;
  /** Lines whose weight was left out. */
  readonly weighted: number;
}

/**
 * Of 49 listed phrases that were wrong in 82 recordings, it sets 39 right. From 3 on, more words are put in
 * that were not said.
 */
const DEFAULT_SCORE = 2.5;
const MAX_PHRASES = 5_000;
const MAX_CHARACTERS = 32;
const MAX_SCORE = 10;
const SCORED = /^(.*?)\s+:(\S*)$/u;
/** FunASR's form (its `hotword.txt`): the weights have another scale. */
const WEIGHTED = /^(.*\p{Script=Han})\s+\d+(?:\.\d+)?$/u;
/** Between the parts of a foreign name, as keyboards have it. */
const MIDDLE_DOT = /(?<=\p{Script=Han})[·・‧](?=\p{Script=Han})/gu;
/** Blanks beside a Chinese character: sherpa-onnx wants one between any two. */
const CHINESE_BLANK = /(?<=\p{Script=Han})\s+|\s+(?=\p{Script=Han})/gu;

/**
 * @param text one phrase a line, in the form of sherpa-onnx's `hotwords_file`: words with blanks between
 * them, and ` :score` at the end if it has one. Or in FunASR's: a weight behind a blank.
 */
export function parseHotwords(text: string): HotwordList {
  const found = new Map<string, Hotword>();
  const ignored: Record<string, number[]> = {};
  let weighted = 0;
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const [, scored = line.trim(), scoreText] = SCORED.exec(line.trim()) ?? [];
    const words = scoreText === undefined ? scored.replace(WEIGHTED, '$1') : scored;
    if (words !== scored) weighted++;
    const phrase = words.trim().replace(CHINESE_BLANK, '');
    const score = scoreText === undefined ? DEFAULT_SCORE : Number(scoreText || Number.NaN);
    const fault = faultOf(phrase, score, found);
    if (fault === undefined) {
      found.set(phrase, { phrase, score });
      continue;
    }
    ignored[fault] ??= [];
    ignored[fault].push(index + 1);
  }
  return { hotwords: [...found.values()], ignored, weighted };
}

function faultOf(phrase: string, score: number, found: ReadonlyMap<string, Hotword>): string | undefined {
  const { length } = Array.from(phrase);
  if (!(score >= 0 && score <= MAX_SCORE)) return `the score is no number from 0 to ${MAX_SCORE}`;
  if (!/[\p{Letter}\p{Number}]/u.test(phrase)) return 'no letter';
  // `停车费：2.5`, `停车费、净利润`, `# 停车费`: no text has such a phrase, and it would do nothing, without a word.
  if (/\p{Script=Han}/u.test(phrase) && /\p{Punctuation}/u.test(phrase.replace(MIDDLE_DOT, '')))
    return 'a mark beside Chinese';
  // One character sounds like too many others.
  if (length === 1) return 'one character';
  if (length > MAX_CHARACTERS) return `over ${MAX_CHARACTERS} characters`;
  if (found.has(phrase)) return 'repeated';
  return found.size === MAX_PHRASES ? `over ${MAX_PHRASES} phrases` : undefined;
}
