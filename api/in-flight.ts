import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiFailure } from '../common/errors.ts';

/** The HTTP requests under way: each is reported once when it has ended, also when its client hung up, and a shutdown can wait for them. */
export class InFlight {
  #count = 0;
  #emptied: (() => void) | undefined;

  /** @param onEnd hears of every request once, and of every refused WebSocket handshake */
  constructor(app: FastifyInstance, onEnd: (request: FastifyRequest, reply: FastifyReply) => void) {
    app.addHook('onRequest', async (request, reply) => {
      if (request.ws) return;
      this.#count += 1;
      // Fastify's onResponse does not run for a client that hung up before its answer.
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) request.failureCode = 'client_gone';
        onEnd(request, reply);
        this.#count -= 1;
        if (this.#count === 0) this.#emptied?.();
      });
    });
    app.addHook('onResponse', async (request, reply) => {
      if (request.ws) onEnd(request, reply);
    });
  }

  /** Resolves when no request is under way, at the latest after `timeoutMs`. */
  async drained(timeoutMs: number): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#emptied = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** From the start of a shutdown nothing new begins here, while what is under way ends; the answers tell a load balancer to go elsewhere. */
export function stopIntakeOnClose(app: FastifyInstance): void {
  const intake = new Set(['/readyz', '/v1/audio/transcriptions', '/ws/asr']);
  let draining = false;
  app.addHook('preClose', async () => {
    draining = true;
  });
  app.addHook('onRequest', async (request, reply) => {
    const path = request.routeOptions.url ?? '';
    if (!draining || !intake.has(path)) return;
    if (path === '/readyz') return reply.code(503).send({ status: 'loading', busy: false });
    throw new ApiFailure('not_ready', 'this replica is shutting down; try again');
  });
}
