/** A character that a recognizer holds for possible in the place of another. */
export interface Alternative {
  readonly character: string;
  /** How much less likely it is, in nats. */
  readonly nats: number;
}

export interface Judgement {
  /** How likely the recording is to say the text: its log-probability, in nats. */
  readonly nats: number;
  /** By place in the text. Where a character begins within a token, there are none. */
  readonly alternatives: readonly (readonly Alternative[])[];
}

/**
 * What a recording says of some texts.
 * @throws InferenceError
 */
export type Judge = (texts: readonly string[]) => Promise<readonly Judgement[]>;

/** Another text for a stretch of one. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly written: string;
}

/** @param replacements that do not overlap */
export function replaced(text: string, replacements: readonly Replacement[]): string {
  const lastFirst = [...replacements].sort((a, b) => b.start - a.start);
  return lastFirst.reduce(
    (result, { start, end, written }) => result.slice(0, start) + written + result.slice(end),
    text,
  );
}
