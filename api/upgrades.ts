import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { PipelinedRequests } from './pipelined-requests.ts';

/**
 * Node hands every request that asks for another protocol over as an `upgrade`, without its body. Only WebSocket handshakes may go on as such:
 * - another protocol, above all `h2c`, which several HTTP clients offer with each request, is ignored as HTTP allows: the request is served as what it is; so is a
 *   handshake with another method than GET, which is none;
 * - a handshake sent behind a request that is not answered yet cannot have the socket: it is closed behind that answer.
 * @returns what emits the other handshakes as `upgrade`, for the WebSocket plugin to listen to
 */
export function webSocketHandshakes(server: Server, pipelined: PipelinedRequests): Server {
  const handshakes = createServer();
  server.on('upgrade', (request, socket, head) => {
    const before = pipelined.last(socket);
    // A response that is written keeps the socket until the next tick.
    if (before !== undefined && (before.socket !== null || !before.writableFinished)) {
      socket.on('error', () => socket.destroy());
      before.once('close', () => socket.destroy());
    } else if (request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket') {
      handshakes.emit('upgrade', request, socket, head);
    } else {
      socket.unshift(Buffer.concat([withoutUpgrade(request), head]));
      server.emit('connection', socket);
    }
  });
  return handshakes;
}

/** The request's head as it came in, less what asks for the other protocol. */
function withoutUpgrade({ method, url, httpVersion, rawHeaders, headers }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!/^(upgrade|http2-settings|connection)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  if (/\bclose\b/i.test(headers.connection ?? '')) lines.push('Connection: close');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
