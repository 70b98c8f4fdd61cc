import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { endedWithin } from '../../common/process/shutdown.ts';
import type { Refusal } from './error-replies.ts';

/**
 * How long a replica that ends still serves kept-alive connections after its last work. Their clients do not know of the
 * end yet: one that has just had an answer may send its next request.
 */
export const KEPT_CONNECTIONS_MS = 250;

/**
 * The HTTP requests under way. Each is reported once when it has ended, even if its client hung up. A shutdown can wait
 * for them.
 */
export class InFlight {
  #count = 0;
  /** How many have come so far. */
  #begun = 0;
  #emptied: (() => void) | undefined;
  readonly #refusals = new WeakMap<IncomingMessage, Refusal>();
  readonly #handshakes = new WeakMap<IncomingMessage, (refusal: Refusal) => void>();

  readonly #onEnd: (request: FastifyRequest, reply: FastifyReply) => void;

  /** @param onEnd hears of every request once, and of every refused WebSocket handshake */
  constructor(onEnd: (request: FastifyRequest, reply: FastifyReply) => void) {
    this.#onEnd = onEnd;
  }

  watch(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      if (request.ws) {
        this.#handshakes.set(request.raw, ({ status, code }) => {
          request.failureCode = code;
          this.#onEnd(request, reply.code(status));
        });
        return;
      }
      this.#count += 1;
      this.#begun += 1;
      const { socket } = request.raw;
      // Fastify's onResponse does not run for a client that hung up before its answer.
      reply.raw.once('close', () => {
        const refusal = this.#refusals.get(request.raw);
        if (refusal !== undefined) {
          request.failureCode = refusal.code;
          reply.code(refusal.status);
        } else if (!reply.raw.writableFinished) request.failureCode = 'client_gone';
        this.#onEnd(request, reply);
        // A connection that lingers behind its last answer would be reset by a shutdown, and the answer may be lost.
        if (reply.raw.shouldKeepAlive || socket.destroyed) this.#left();
        else socket.once('close', () => this.#left());
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
  refused({ req, closed }: ServerResponse, refusal: Refusal): boolean {
    if (!closed) this.#refusals.set(req, refusal);
    return !closed;
  }

  /** A handshake was refused by the WebSocket layer. */
  refusedHandshake(request: IncomingMessage, refusal: Refusal): void {
    this.#handshakes.get(request)?.(refusal);
  }

  #left(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#emptied?.();
  }

  /**
   * Resolves when `others` has, no request is under way and none came for `quietMs`.
   * From now on, requests delay it by `timeoutMs` and `quietMs` at most.
   */
  async drained(others: Promise<unknown>, quietMs: number, timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    await others;
    let begun: number;
    do {
      begun = this.#begun;
      if (this.#count > 0) {
        const emptied = new Promise<void>((resolve) => {
          this.#emptied = resolve;
        });
        await endedWithin(emptied, deadlineMs - performance.now());
      }
      await sleep(quietMs);
    } while (this.#begun > begun && performance.now() < deadlineMs);
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
