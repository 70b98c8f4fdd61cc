import type { FastifyReply, FastifyRequest } from 'fastify';

/** Where the WebSocket is. */
export const STREAM_PATH = '/ws/asr';
/** A name in Sec-WebSocket-Protocol (RFC 6455, section 4.1): a token of HTTP. */
const SUBPROTOCOL = /^[ \t]*([!#$%&'*+.^_`|~\w-]+)[ \t]*$/;
/** No route has it. */
const UNKNOWN_PATH = '/undecodable-path';

/**
 * A request's target, or a path that no route has if its percent-encoding is broken. Fastify itself would
 * answer a broken one before any hook, and so without a look at the peer.
 */
export function decodablePath(target: string): string {
  try {
    decodeURI(/^[^?#]*/.exec(target)?.[0] ?? '');
    return target;
  } catch {
    return UNKNOWN_PATH;
  }
}

/**
 * Hook: the WebSocket plugin ends the connection of a refused handshake. This header keeps clients and
 * proxies with a pool from using it again.
 */
export async function sayThatRefusalsClose({ ws }: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (ws) reply.header('connection', 'close');
}

/** Hook: exactly one Host header, as HTTP/1.1 demands (RFC 9112, section 3.2); none is right in HTTP/1.0. */
export async function requireHost({ raw }: FastifyRequest): Promise<void> {
  const hosts = raw.rawHeaders.filter((name, n) => n % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1'))
    throw badRequest(`the request has ${hosts} Host headers, expected one`);
}

/**
 * Hook: on any other path the WebSocket plugin would accept a handshake, close without a word, and log the address. A
 * token may stand in its query. What breaks RFC 6455 it would answer in a form of its own, past the log.
 */
export async function checkHandshake(
  { ws, raw: { headers }, routeOptions: { url } }: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  // An unknown path is 404 anyway.
  if (!ws || url === undefined) return;
  if (url !== STREAM_PATH) throw badRequest(`there is no WebSocket at ${url}; the stream is ${STREAM_PATH}`);
  const { 'sec-websocket-version': version, 'sec-websocket-key': key = '' } = headers;
  if (version !== '13' || !/^[+/0-9A-Za-z]{22}==$/.test(key)) {
    reply.header('Sec-WebSocket-Version', '13');
    throw badRequest(
      'the handshake needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key of 16 bytes in Base64',
    );
  }
  const names =
    headers['sec-websocket-protocol']?.split(',').map((name) => SUBPROTOCOL.exec(name)?.[1]) ?? [];
  if (names.includes(undefined) || new Set(names).size < names.length)
    throw badRequest('Sec-WebSocket-Protocol must have names with commas between them, each name once');
}

function badRequest(message: string): Error {
  return Object.assign(new Error(message), { statusCode: 400 });
}
