import type { FastifyReply, FastifyRequest } from 'fastify';

/** Where the WebSocket is. */
export const STREAM_PATH = '/ws/asr';
/** No route has it. */
const UNKNOWN_PATH = '/undecodable-path';

/**
 * A request's target, or a path that no route has if its percent-encoding is broken. Fastify itself would answer a broken one before any hook, and so without
 * a look at the peer.
 */
export function decodablePath(target: string): string {
  try {
    decodeURI(/^[^?#]*/.exec(target)?.[0] ?? '');
    return target;
  } catch {
    return UNKNOWN_PATH;
  }
}

/** Hook: the WebSocket plugin ends the connection of a refused handshake. This header keeps clients and proxies with a pool from using it again. */
export async function sayThatRefusalsClose({ ws }: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (ws) reply.header('connection', 'close');
}

/** Hook: exactly one Host header, as HTTP/1.1 demands (RFC 9112, section 3.2); none is right in HTTP/1.0. */
export async function requireHost({ raw }: FastifyRequest): Promise<void> {
  const hosts = raw.rawHeaders.filter((name, n) => n % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1'))
    throw Object.assign(new Error(`the request has ${hosts} Host headers, expected one`), {
      statusCode: 400,
    });
}

/** Hook: on any other path the WebSocket plugin would accept a handshake, close without a word, and log the address. A token may stand in its query. */
export async function refuseStrayHandshake({ ws, routeOptions: { url } }: FastifyRequest): Promise<void> {
  if (ws && url !== undefined && url !== STREAM_PATH)
    throw Object.assign(new Error(`there is no WebSocket at ${url}; the stream is ${STREAM_PATH}`), {
      statusCode: 400,
    });
}
