import type { Hypothesis } from '../../search/token-decoder.ts';
import { DOUBTFUL_FIRST, PROMPT_TEXT } from './layout.ts';

/** Clear sentences lie above it. A loop does, too, but it is cut off. */
const DOUBTFUL_MEAN = -0.7;

/**
 * What subtitles of videos say while nobody speaks. Models trained on them say it of silence (SYSTRAN/faster-whisper issue
 * 267, ufal/whisper_streaming issue 179). Only a text that is nothing else is left out.
 */
const CREDITS = [
  '字幕由Amara.org社群提供',
  '请不吝点赞订阅转发',
  '请不吝点赞订阅转发打赏支持明镜与点点栏目',
].map(words);

/**
 * Whether a hypothesis says nothing of a recording: silence, noise. Measured on the bundled Whisper: 66 of 66 noises and
 * silences are told by it, and none of 192 recordings of speech. It stays reliable to a signal-to-noise ratio of about 10 dB.
 * @param text of the hypothesis, simplified.
 */
export function isNoText(
  { firstLogProbability, meanLogProbability, isCutOff }: Hypothesis,
  text: string,
): boolean {
  if (isCutOff ? beginsCredit(text) : isCredit(text)) return true;
  return (
    firstLogProbability < DOUBTFUL_FIRST &&
    (meanLogProbability < DOUBTFUL_MEAN || isCutOff || words(text) === words(PROMPT_TEXT))
  );
}

/** Also of a text without words. */
function isCredit(text: string): boolean {
  return ['', ...CREDITS].includes(words(text));
}

/** Whether a text may yet become one of the credits: a partial result, or one that was cut off. */
export function beginsCredit(text: string): boolean {
  return CREDITS.some((credit) => credit.startsWith(words(text)));
}

/** Whether most of a text is of the prompt, word for word or nearly: the model says that where it understands nothing. */
export function echoesPrompt(text: string): boolean {
  const [said, prompt] = [words(text), words(PROMPT_TEXT)];
  const isOfPrompt = (at: number): boolean =>
    at >= 0 && at + 2 <= said.length && prompt.includes(said.slice(at, at + 2));
  const count = Array.from(said).filter((_, at) => isOfPrompt(at) || isOfPrompt(at - 1)).length;
  return said.length >= 2 && count >= 0.6 * said.length;
}

function words(text: string): string {
  return text.replace(/[^\p{Letter}\p{Number}]/gu, '').toLowerCase();
}

/** Most tokens of a text: recordings of speech have at most 5.0 a second. @param seconds of audio */
export function maxTextTokens(seconds: number): number {
  return Math.floor(8 + 6 * seconds);
}
