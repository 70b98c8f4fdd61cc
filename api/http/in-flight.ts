import type { ServerResponse } from 'node:http';
import { Server } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { UnderWay } from '../../common/process/under-way.ts';
import type { Refusal } from './error-replies.ts';

/**
 * How long a replica that ends still serves kept-alive connections after its last work. Their clients do not know of the
 * end yet: one that has just had an answer may send its next request.
 */
export const KEPT_CONNECTIONS_MS = 250;

/** The HTTP requests under way. Each is counted, and reported once when it has ended, even if its client hung up. */
export class InFlight {
  readonly #refusals = new WeakMap<ServerResponse, Refusal>();
  readonly #underWay: UnderWay;
  readonly #onEnd: (request: FastifyRequest, reply: FastifyReply) => void;

  /** @param onEnd hears of every request once, also of a refused WebSocket handshake */
  constructor(underWay: UnderWay, onEnd: (request: FastifyRequest, reply: FastifyReply) => void) {
    this.#underWay = underWay;
    this.#onEnd = onEnd;
  }

  /** Behind the WebSocket plugin's hook, which marks handshakes. */
  watch(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      if (request.ws) return;
      const ended = this.#underWay.begin();
      const { socket } = request.raw;
      // Fastify's onResponse does not run for a client that hung up before its answer.
      reply.raw.once('close', () => {
        const refusal = this.#refusals.get(reply.raw);
        if (refusal !== undefined) {
          request.failureCode = refusal.code;
          reply.code(refusal.status);
        } else if (!reply.raw.writableFinished) request.failureCode = 'client_gone';
        this.#onEnd(request, reply);
        // A connection that lingers behind its last answer would be reset by a shutdown, and the answer may be lost.
        if (reply.raw.shouldKeepAlive || socket.destroyed) ended();
        else socket.once('close', ended);
      });
    });
    app.addHook('onResponse', async (request, reply) => {
      if (request.ws) this.#onEnd(request, reply);
    });
  }

  /**
   * What came behind the head of a request was no HTTP, or did not come in time. It was answered from below Fastify,
   * which may not have looked at it yet.
   * @returns false if no request is under way that this could be about
   */
  refused(response: ServerResponse, refusal: Refusal): boolean {
    if (!response.closed) this.#refusals.set(response, refusal);
    return !response.closed;
  }
}

/**
 * From the start of a shutdown no new connection is taken. A load balancer whose attempt is refused goes to another
 * replica at once; an answer 503 would reach the client. What arrives on open connections is still served, and each ends
 * behind its answer.
 * HTTP's own way to close would at once end the idle ones, too. A load balancer with a pool may just have written an
 * upload into one of them. The reset would be its client's 502.
 */
export function stopListeningOnClose(app: FastifyInstance): void {
  app.addHook('preClose', async () => void Server.prototype.close.call(app.server));
  // Fastify itself closes behind requests that arrive from then on, but not behind those that are under way.
  app.addHook('onSend', async (_request, reply) => {
    if (!app.server.listening) reply.raw.shouldKeepAlive = false;
  });
}
