import { isIP } from 'node:net';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import type { ApiServices } from '../services.ts';
import type { ApiMetrics } from './metrics.ts';

/**
 * The board asks another host for its fonts. Where that cannot be reached, and says nothing, a browser shows a blank page until it gives up.
 */
const BOARD_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

/** What an operator looks at, on loopback only: `/metrics` (Prometheus) and `/queues` (the BullMQ queue). */
export async function buildAdmin(services: ApiServices, metrics: ApiMetrics): Promise<FastifyInstance> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  metrics.watchProcess();
  app.addHook('onRequest', refuseOtherHosts);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('Content-Security-Policy', BOARD_POLICY);
  });
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

/**
 * Nobody has to say a password here, and a web page whose name its owner lets point to loopback (DNS rebinding) would read all this in the operator's browser.
 * Such a page needs a name; addresses and localhost are nobody's.
 */
async function refuseOtherHosts({ hostname }: FastifyRequest): Promise<void> {
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || /^(.+\.)?localhost$/i.test(hostname)) return;
  throw Object.assign(new Error(`this is served for localhost and 127.0.0.1 only, not for "${hostname}"`), {
    statusCode: 403,
  });
}
