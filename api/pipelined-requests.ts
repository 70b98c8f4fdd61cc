import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ClientGone } from './client-gone.ts';

/** On no connection of an honest client do more requests wait for their answers. */
const MAX_WAITING = 100;
/** No honest client sends a request with more headers than this either. While it waits, each short header takes twenty times its size, and nobody has looked at the token yet. */
const MAX_WAITING_HEADERS = 200;

/**
 * The requests of each connection, one after the other. Node hands over all that a client sends without waiting for answers, and keeps their answers until the
 * client has read those in front: a connection that reads nothing would hold gigabytes, and the files behind such answers would stay open when it goes,
 * since nobody tells a response that never had its turn.
 */
export class PipelinedRequests {
  /** The responses of a connection that are not closed, in the order of their requests; at least the last one. */
  readonly #responses = new WeakMap<Duplex, ServerResponse[]>();
  /** How many requests and handshakes have begun on a connection. */
  readonly #heads = new WeakMap<Duplex, number>();
  /** Connections that have sent what is not HTTP. */
  readonly #broken = new WeakSet<Duplex>();

  watch(server: Server): void {
    const headCame = (socket: Duplex): void =>
      void this.#heads.set(socket, (this.#heads.get(socket) ?? 0) + 1);
    server.prependListener('upgrade', (_request, socket) => headCame(socket));
    // In front of the listener that serves the request.
    server.prependListener('request', ({ socket }, response) => {
      headCame(socket);
      this.#responses.set(socket, [...this.#open(socket), response]);
    });
  }

  /** The response that is on its way, or the next one. */
  first(socket: Duplex): ServerResponse | undefined {
    return this.#open(socket)[0];
  }

  /** The response to a connection's last request, sent or not. */
  last(socket: Duplex): ServerResponse | undefined {
    return this.#responses.get(socket)?.at(-1);
  }

  /**
   * What has arrived is not HTTP, or did not arrive in time: the complete requests in front of it are answered first, as a proxy would that reads one after the other.
   * @param reply gets the response to the request that is broken, or else the last one in front of it
   */
  async broken(
    { code }: { code?: string },
    socket: Duplex,
    reply: (current: ServerResponse | undefined) => void,
  ): Promise<void> {
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && (await this.#hasArrived(socket))) return;
    // Each piece that follows the broken one is an error again.
    if (socket.destroyed || this.#broken.has(socket)) return;
    this.#broken.add(socket);
    let current = this.first(socket);
    while (current?.req.complete && !socket.destroyed) {
      await firstToClose(current, socket);
      current = this.first(socket);
    }
    reply(current ?? this.last(socket));
  }

  /** Hook: the request waits until the one before it is answered. @throws ClientGone when its connection ends meanwhile, or has too many that wait */
  readonly inTurn = async (
    { raw: { socket, rawHeaders }, log, ip }: FastifyRequest,
    { raw: response }: FastifyReply,
  ): Promise<void> => {
    const open = this.#open(socket);
    const before = open[open.indexOf(response) - 1];
    if (before === undefined) return;
    const isTooMany = open.length > MAX_WAITING;
    // Names and values, one behind the other.
    if ((isTooMany || rawHeaders.length > 2 * MAX_WAITING_HEADERS) && !socket.destroyed) {
      const what = isTooMany
        ? `over ${MAX_WAITING} requests wait`
        : `a request with over ${MAX_WAITING_HEADERS} headers waits`;
      log.info({ peer: ip }, `a connection on which ${what} was ended`);
      socket.destroy();
    }
    if (!socket.destroyed) await firstToClose(before, socket);
    if (socket.destroyed) throw new ClientGone('the client hung up before it was its turn');
  };

  /** Node looks at its clocks before it reads: what has come while this process itself stood still is not late. */
  async #hasArrived(socket: Duplex): Promise<boolean> {
    const arrived = (): string => `${this.#heads.get(socket)} ${this.last(socket)?.req.complete}`;
    const before = arrived();
    await new Promise((resolve) => setImmediate(resolve));
    return arrived() !== before;
  }

  #open(socket: Duplex): ServerResponse[] {
    return (this.#responses.get(socket) ?? []).filter((response) => !response.closed);
  }
}

function firstToClose(response: ServerResponse, socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const closed = (): void => {
      socket.off('close', closed);
      resolve();
    };
    response.once('close', closed);
    socket.once('close', closed);
  });
}
