import { messageOf } from '../../../common/errors/errors.ts';
import { INVISIBLE } from '../../../common/errors/printable.ts';

const MAX_CHARACTERS = 1000;

/**
 * An error in one line, as an operator reads it. The runtime puts what it found and expected into lines of
 * their own, and its messages hold names that a model has chosen.
 */
export function errorText(cause: unknown): string {
  const text = messageOf(cause);
  return text
    .trim()
    .slice(0, MAX_CHARACTERS)
    .replace(/\s*[\n\r\t]\s*/g, ' ')
    .replace(INVISIBLE, '\ufffd');
}
