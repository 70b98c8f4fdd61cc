const MAX_CHARACTERS = 1000;

/** An error in one line, as an operator reads it: the runtime puts what it found and expected into lines of their own. */
export function errorText(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .slice(0, MAX_CHARACTERS);
}
