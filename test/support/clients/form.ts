import { AUTHORIZED } from '../service/api.ts';

interface FormPart {
  /** The lines of its head, without the empty one behind them. */
  readonly headers: string;
  readonly content: Buffer;
}

export interface Form {
  readonly body: Buffer;
  /** What its Content-Type must say. */
  readonly type: string;
}

/** Multipart bytes by hand, to the byte; the boundary is B. */
export function form(parts: readonly FormPart[]): Form {
  const pieces = parts.flatMap(({ headers, content }) => [
    Buffer.from(`--B\r\n${headers}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ]);
  return {
    body: Buffer.concat([...pieces, Buffer.from('--B--\r\n')]),
    type: 'multipart/form-data; boundary=B',
  };
}

export const filePart = (content: Buffer, name = 'file'): FormPart => ({
  headers: `Content-Disposition: form-data; name="${name}"; filename="a.wav"\r\nContent-Type: audio/wav`,
  content,
});

/** POSTs these bytes as an upload. */
export async function postBody(
  origin: string,
  body: Buffer,
  type: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${origin}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { ...AUTHORIZED, ...headers, ...(type === undefined ? {} : { 'content-type': type }) },
    body: Uint8Array.from(body),
  });
  return { status: response.status, body: await response.json() };
}
