import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { type FastifyInstance, fastify } from 'fastify';
import type { ApiMetrics } from './metrics.ts';
import type { ApiServices } from './services.ts';

/** What an operator looks at, on loopback only: `/metrics` (Prometheus) and `/queues` (the BullMQ queue). */
export async function buildAdmin(services: ApiServices, metrics: ApiMetrics): Promise<FastifyInstance> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get('/metrics', async (_request, reply) => {
    await metrics.refresh();
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  const board = new FastifyAdapter();
  board.setBasePath('/queues');
  createBullBoard({
    queues: [new BullMQAdapter(services.queue, { readOnlyMode: true })],
    serverAdapter: board,
  });
  await app.register(board.registerPlugin(), { prefix: '/queues' });
  app.get('/', async (_request, reply) => reply.redirect('/queues'));
  return app;
}
