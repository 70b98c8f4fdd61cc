import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const LINGER_MS = 2_000;
/** Longer, for a slow upload. Apache and Varnish look for an answer only when they have sent all of it. They make a 502 or 503 of an end before that. */
const SLOW_UPLOAD_LINGER_MS = 10_000;

/**
 * Ends the connection behind an answer that was given before the body was read.
 *
 * The connection cannot be kept. Once Node's HTTP client (and so axios and node-fetch) has its answer, it sends no more of the body. aiohttp sends its next
 * request in place of the rest. On a kept connection that request would wait for Node's request timeout.
 *
 * It cannot be closed at once either. That would reset it under a client that still sends, and such a client would never see the answer. So the rest of the
 * body is read and dropped first. Node's request timeout bounds that.
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

/** Ends the connection of an upload that was too slow. The rest may never come: our side ends at once, and what still comes is read and dropped for a while. */
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

/** Ends the connection behind the answer, when the client has already sent something else after its request. That is read and dropped. */
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
 * Ends a connection. What still comes is dropped: closing at once would reset the connection under a client that sends and has not read the answer.
 * A client that leaves its side open does not keep the connection for ever.
 */
export function endWith(socket: Duplex, lastBytes: string, lingerMs = LINGER_MS): void {
  if (socket.writable) socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
