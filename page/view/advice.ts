import type { Failure } from '../service/failures.ts';
import type { Advice, FailureKind, Texts } from '../texts/texts.ts';

/** Failures that are told at the token's field, where the person puts them right. */
const OF_TOKEN: readonly FailureKind[] = ['unauthorized', 'token_missing'];

export const isOfToken = ({ kind }: Failure): boolean => OF_TOKEN.includes(kind);

/** What happened and what to do, about a file by its name. */
export function adviceOn(texts: Texts, { kind, file }: Failure, fileName?: string): Advice {
  const advice = texts.failures[kind];
  if (typeof advice === 'function') return advice(fileName ?? texts.thisRecording, file);
  const [what, todo] = advice;
  return fileName === undefined ? advice : [texts.ofFile(fileName, what), todo];
}
