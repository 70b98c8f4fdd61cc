import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Whether an If-None-Match header names this tag. A proxy that compressed the answer may have made it a weak one. */
function names(header: string, tag: string): boolean {
  return header.split(',').some((part) => {
    const named = part.trim();
    return named === '*' || named.replace(/^W\//, '') === tag;
  });
}

/**
 * An onSend hook for what people read. The reader keeps a copy and asks each time whether it is still the
 * present one. So a new version shows at once, and the same one is not sent twice. Streams pass: the static
 * files among them have tags of their own.
 */
export async function revalidate(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || reply.statusCode !== 200) return payload;
  const tag = `"${createHash('sha256').update(payload).digest('base64url')}"`;
  reply.header('ETag', tag).header('Cache-Control', 'no-cache');
  if (!names(request.headers['if-none-match'] ?? '', tag)) return payload;
  reply.code(304).removeHeader('content-type');
  // For HEAD, fastify drops the body itself, and needs it for the Content-Length.
  return request.method === 'HEAD' ? payload : null;
}
