import type { TranscriptPiece } from '../protocol/transcript.ts';

const LINE_CHARACTERS = 21;
const CUE_LINES = 2;
/** A line may end so early, at a mark of punctuation. */
const SHORT_LINE_CHARACTERS = 9;
const PUNCTUATION = /^[\p{P}\s]$/u;

export interface Cue {
  readonly start_ms: number;
  readonly end_ms: number;
  /** One line, or two. */
  readonly text: string;
}

/**
 * The subtitles of one piece: at most two lines of 21 characters at a time. A longer text has several, and each has
 * the time that its share of the characters takes.
 */
export function cuesOf({ text, start_ms, end_ms }: TranscriptPiece): Cue[] {
  const lines = linesOf([...text.trim()]);
  const total = lines.reduce((sum, line) => sum + line.length, 0);
  const cues: Cue[] = [];
  let done = 0;
  const timeAt = (characters: number) => Math.round(start_ms + ((end_ms - start_ms) * characters) / total);
  for (let at = 0; at < lines.length; at += CUE_LINES) {
    const shown = lines.slice(at, at + CUE_LINES);
    const from = timeAt(done);
    done += shown.reduce((sum, line) => sum + line.length, 0);
    const cue = shown.map((line) => line.join('').trim()).join('\n');
    cues.push({ start_ms: from, end_ms: timeAt(done), text: cue });
  }
  return cues;
}

/** Lines of at most 21 characters, all of them. None begins with a mark of punctuation, if it can be helped. */
function linesOf(characters: readonly string[]): string[][] {
  const lines: string[][] = [];
  let rest = characters;
  while (rest.length > LINE_CHARACTERS) {
    const isMark = (index: number): boolean => PUNCTUATION.test(rest[index] ?? '');
    const isWord = (index: number): boolean => /[A-Za-z0-9]/.test(rest[index] ?? '');
    let end = LINE_CHARACTERS;
    for (let behind = LINE_CHARACTERS; behind >= SHORT_LINE_CHARACTERS; behind -= 1) {
      if (!isMark(behind - 1) || isMark(behind)) continue;
      end = behind;
      break;
    }
    // Neither a mark alone nor half a word goes to the next line, if the line has something else.
    const isTorn = (): boolean => isMark(end) || (isWord(end - 1) && isWord(end));
    for (let earlier = end; earlier > 1 && isTorn(); earlier -= 1) end = earlier - 1;
    if (end <= 1) end = LINE_CHARACTERS;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  if (rest.length > 0) lines.push([...rest]);
  return lines;
}

/** @returns the pieces as SubRip (`.srt`) */
export const toSrt = (pieces: readonly TranscriptPiece[]): string =>
  pieces
    .flatMap(cuesOf)
    .map((cue, index) => srtCue(cue, index + 1))
    .join('');

/** @returns the pieces as WebVTT (`.vtt`) */
export const toVtt = (pieces: readonly TranscriptPiece[]): string =>
  VTT_START + pieces.flatMap(cuesOf).map(vttCue).join('');

export const VTT_START = 'WEBVTT\n\n';

/** @param number of the cue, from 1 */
export const srtCue = ({ start_ms, end_ms, text }: Cue, number: number): string =>
  `${number}\n${timestamp(start_ms, ',')} --> ${timestamp(end_ms, ',')}\n${text}\n\n`;

export const vttCue = ({ start_ms, end_ms, text }: Cue): string => {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `${timestamp(start_ms, '.')} --> ${timestamp(end_ms, '.')}\n${escaped}\n\n`;
};

/** `01:02:03,456` */
function timestamp(ms: number, point: string): string {
  const [hours, minutes, seconds] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60];
  const clock = [hours, minutes, seconds].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
  return `${clock}${point}${String(ms % 1000).padStart(3, '0')}`;
}
