import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const LINGER_MS = 2_000;

/**
 * Ends the connection behind an answer that was given before the body was read.
 *
 * The connection cannot be kept. Once Node's HTTP client (and so axios and node-fetch) has its answer, it sends no more
 * of the body. aiohttp sends its next request in place of the rest. On a kept connection that request would wait for
 * Node's request timeout.
 */
export function endBehindBody(response: ServerResponse): void {
  const { req: request } = response;
  const { headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (request.complete || !hasBody) return;
  request.resume();
  lingerThenClose(response);
}

/** Ends the connection behind the answer, when the client has already sent something else after its request. */
export function endBehindAnswer(response: ServerResponse): void {
  // In the place of the parser. A client that has ended its side gets the answer, too.
  response.req.socket
    .removeAllListeners('data')
    .on('data', () => undefined)
    .resume();
  lingerThenClose(response);
}

/**
 * Lets an answer be the last one of its connection. What the client still sends is read and dropped: closing at once
 * would reset the connection under a client that sends, and such a client would never see the answer.
 *
 * Our side stays open until the body is there. Apache and Varnish look for an answer only when they have sent all of
 * it, and make a 502 or 503 of an end before that. Node's request timeout bounds this: behind the 408 of a slow upload
 * 10 s are left.
 */
function lingerThenClose(response: ServerResponse): void {
  const { req: request } = response;
  const close = (): void => {
    if (request.complete) endWith(request.socket, '');
    else request.once('end', close);
  };
  if (response.headersSent) response.once('finish', close);
  else {
    response.shouldKeepAlive = false;
    // Node's own end of a connection that is not kept.
    request.socket.destroySoon = close;
  }
}

/**
 * Ends a connection with these bytes, and reads and drops what still comes.
 * A client that leaves its side open does not keep the connection for ever.
 */
export function endWith(socket: Duplex, lastBytes: string): void {
  if (socket.writable) socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
