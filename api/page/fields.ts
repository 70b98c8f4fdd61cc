export type Fields = Readonly<Record<string, unknown>>;

/** The JSON object in a text; empty when there is none. */
export function fieldsOf(text: unknown): Fields {
  try {
    const value: unknown = typeof text === 'string' ? JSON.parse(text) : undefined;
    return typeof value === 'object' ? { ...value } : {};
  } catch {
    return {};
  }
}
