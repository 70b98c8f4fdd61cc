/** First line of an error: what an operator reads is one line. */
export function errorText(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split('\n', 1)[0] ?? '';
}
