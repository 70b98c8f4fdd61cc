import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const LINGER_MS = 2_000;
/** Longer, for an upload that is slow: Apache and Varnish look for an answer only when they have sent all of it, and make a 502 or 503 of an end before. */
const SLOW_UPLOAD_LINGER_MS = 10_000;

/**
 * Ends the connection behind an answer that was given before the body was read.
 *
 * The connection cannot be kept. Once Node's HTTP client (and so axios and node-fetch) has its answer, it sends no more of the body, and aiohttp sends its next
 * request in place of the rest. On a kept connection that request would wait for Node's request timeout.
 *
 * It cannot be closed at once either: that would reset it under a client that still sends, who would never see the answer. So the rest of the body is read and
 * dropped first. Node's request timeout bounds that.
 */
export function endBehindBody(response: ServerResponse): void {
  const { req: request } = response;
  const { headers, socket } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (request.complete || !hasBody) return;
  request.resume();
  response.shouldKeepAlive = false;
  const end = socket.destroySoon.bind(socket);
  socket.destroySoon = () => (request.complete ? end() : void request.once('end', end));
}

/** The answer to an upload that was too slow, whose rest may never come: our side ends at once, and what still comes is read and dropped for a while. */
export function endBeforeBody(response: ServerResponse): void {
  const { req: request } = response;
  const { socket } = request;
  request.resume();
  response.shouldKeepAlive = false;
  const end = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    endWith(socket, '', SLOW_UPLOAD_LINGER_MS);
    request.once('end', end);
  };
}

/** The answer to a request behind which the client has already sent something else, which is read and dropped. */
export function endBehindAnswer(response: ServerResponse): void {
  const { socket } = response.req;
  // In the place of the parser. A client that has ended its side gets the answer, too.
  socket
    .removeAllListeners('data')
    .on('data', () => undefined)
    .resume();
  if (response.headersSent) response.once('finish', () => endWith(socket, ''));
  else {
    response.shouldKeepAlive = false;
    socket.destroySoon = () => endWith(socket, '');
  }
}

/**
 * The end of a connection. What still comes is dropped, since closing at once would reset the connection under a client that sends and has not read the
 * answer; one that leaves its side open does not keep it for ever.
 */
export function endWith(socket: Duplex, lastBytes: string, lingerMs = LINGER_MS): void {
  if (socket.writable) socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
