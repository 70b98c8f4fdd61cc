import type { Recording } from '../../recording/now.ts';
import type { Texts } from '../../texts/texts.ts';

/** @param number the recording's in its tab, from 1 */
export const nameOf = (texts: Texts, { fileName }: Recording, number: number): string =>
  `${number}. ${fileName ?? texts.microphone}`;

/** What is said where there is no text: advice about the microphone helps nobody with a file. */
export const nothingIn = (texts: Texts, { fileName }: Recording): string =>
  fileName === undefined ? texts.nothingHeard : texts.nothingInFile;

/** The local time as in 2026-10-13 09:05:00. */
export function timeOf(date: Date): string {
  const local = new Date(date.getTime() - 60_000 * date.getTimezoneOffset());
  return local.toISOString().slice(0, 19).replace('T', ' ');
}

/** The same for a file's name, where some systems allow neither blank nor colon. */
export const fileTime = (date: Date): string => timeOf(date).replaceAll(':', '').replace(' ', '-');
