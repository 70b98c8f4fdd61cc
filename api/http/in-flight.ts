import type { ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from './error-replies.ts';

/**
 * How long a replica that ends still serves kept-alive connections after its last work. Their clients do not know of the
 * end yet: one that has just had an answer may send its next request.
 */
export const KEPT_CONNECTIONS_MS = 250;
const LOOK_AGAIN_MS = 10;

/**
 * The HTTP requests under way. Each is reported once when it has ended, even if its client hung up. A shutdown can wait
 * for them.
 */
export class InFlight {
  #count = 0;
  /** How many have come so far. */
  #begun = 0;
  readonly #refusals = new WeakMap<ServerResponse, Refusal>();
  readonly #onEnd: (request: FastifyRequest, reply: FastifyReply) => void;

  /** @param onEnd hears of every request once, also of a refused WebSocket handshake */
  constructor(onEnd: (request: FastifyRequest, reply: FastifyReply) => void) {
    this.#onEnd = onEnd;
  }

  watch(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      if (request.ws) return;
      this.#count += 1;
      this.#begun += 1;
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
        const left = (): void => {
          this.#count -= 1;
        };
        if (reply.raw.shouldKeepAlive || socket.destroyed) left();
        else socket.once('close', left);
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

  /**
   * Resolves when `others` has, no request is under way and none came for `quietMs`.
   * From now on, requests delay it by `timeoutMs` and `quietMs` at most.
   */
  async drained(others: Promise<unknown>, quietMs: number, timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    const isLate = (): boolean => performance.now() >= deadlineMs;
    await others;
    let begun: number;
    do {
      begun = this.#begun;
      while (this.#count > 0 && !isLate()) await sleep(LOOK_AGAIN_MS);
      await sleep(quietMs);
    } while (this.#begun > begun && !isLate());
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
  let isEnding = false;
  app.addHook('preClose', async () => {
    isEnding = true;
    Server.prototype.close.call(app.server);
  });
  // Fastify itself closes behind requests that arrive from then on, but not behind those that are under way.
  app.addHook('onSend', async (_request, reply) => {
    if (isEnding) reply.raw.shouldKeepAlive = false;
  });
}
