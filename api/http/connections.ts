import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { endBehindAnswer } from './last-answers.ts';

/**
 * What a connection may do: one request at a time, or a WebSocket handshake while no request is under way.
 * Whatever comes before the answer is dropped. The request under way is answered with `Connection: close`, and the
 * connection ends.
 * Node by itself begins all requests that have come. With 1,000 requests for a file on each of 8 connections it took
 * 386 MB and 8,000 descriptors, which it kept when the clients had gone.
 * An offer of another protocol is ignored, as HTTP allows, and the request is answered in the same way. Java's HTTP
 * client and `curl --http2` offer `h2c` with each request.
 */
export class Connections {
  /** For each connection, the response to the last of its requests that is served. */
  readonly #current = new WeakMap<Duplex, ServerResponse>();
  readonly #ending = new WeakSet<Duplex>();
  readonly #upgraded = new WeakSet<Duplex>();

  /** @returns what emits the handshakes as `upgrade`, for the WebSocket plugin to listen to */
  watch(server: Server): Server {
    // In front of the listener that serves the request.
    server.prependListener('request', ({ socket, headers }, response) => {
      if (this.#isFree(socket)) {
        this.#current.set(socket, response);
        if (headers.upgrade !== undefined) response.shouldKeepAlive = false;
      } else this.#endBehindAnswer(socket);
    });
    const handshakes = createServer();
    server.on('upgrade', (request, socket, rest) => {
      if (this.isHandshake(request)) {
        this.#upgraded.add(socket);
        handshakes.emit('upgrade', request, socket, rest);
      } else if (!socket.destroyed) {
        socket.unshift(Buffer.concat([withoutOffer(request), rest]));
        server.emit('connection', socket);
      }
    });
    return handshakes;
  }

  /** Hook: what came before the answer in front of it is not served. */
  readonly dropLate = async ({ raw: { socket } }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (this.#ending.has(socket) && this.#current.get(socket) !== reply.raw) reply.hijack();
  };

  /**
   * Node's `shouldUpgradeCallback`. Before 24.9 Node does not ask. It hands over every offer without the request's body:
   * then the request is given back, to be read again.
   */
  readonly isHandshake = ({ method, headers, socket }: IncomingMessage): boolean =>
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && this.#isFree(socket);

  /**
   * What has come is not HTTP, or did not come in time. Behind a request under way it is dropped, like anything else.
   * @param reply gets the response to the request that is broken, or else the last one in front of it, which is closed
   */
  async broken(
    { code }: { code?: string },
    socket: Duplex,
    reply: (current: ServerResponse | undefined) => void,
  ): Promise<void> {
    if (this.#ending.has(socket)) return;
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && (await this.#hasArrived(socket))) return;
    const current = this.#current.get(socket);
    if (current?.req.complete && !current.closed) this.#endBehindAnswer(socket);
    else reply(current);
  }

  #isFree(socket: Duplex): boolean {
    const current = this.#current.get(socket);
    return current === undefined || (current.closed && current.shouldKeepAlive);
  }

  #endBehindAnswer(socket: Duplex): void {
    const current = this.#current.get(socket);
    if (current === undefined || this.#ending.has(socket)) return;
    this.#ending.add(socket);
    endBehindAnswer(current);
  }

  /** Node looks at its clocks before it reads. So what came while this process itself stood still is not late. */
  async #hasArrived(socket: Duplex): Promise<boolean> {
    const before = this.#current.get(socket);
    const wasComplete = before?.req.complete;
    await new Promise((resolve) => setImmediate(resolve));
    const current = this.#current.get(socket);
    return this.#upgraded.has(socket) || current !== before || current?.req.complete !== wasComplete;
  }
}

/** The request's head as it came in, but as the last one of its connection and without the offer. */
function withoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`, 'Connection: close'];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!/^(upgrade|connection)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
