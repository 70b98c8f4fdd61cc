import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import type { AdminConfig } from '../../common/config/admin.ts';
import { buildAdminServer } from '../../common/process/admin-server.ts';
import type { HeartbeatSender } from '../../common/readiness/heartbeats.ts';
import type { Replica } from '../../common/readiness/replicas.ts';
import type { Slot } from '../../common/slot/slot.ts';
import type { UploadJob } from '../../common/uploads/upload-jobs.ts';
import type { ApiMetrics } from './metrics.ts';

/**
 * The board asks another host for its fonts. If that host cannot be reached and says nothing, a browser shows
 * a blank page until it gives up.
 */
const BOARD_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

interface AdminParts {
  readonly slot: Slot;
  readonly queue: Queue<UploadJob>;
  readonly heartbeat: HeartbeatSender<Replica>;
}

/** What an operator looks at: `/metrics` (Prometheus) and `/queues` (the BullMQ queue). */
export async function buildAdmin(
  config: AdminConfig,
  { slot, queue, heartbeat }: AdminParts,
  { registry, refresh }: ApiMetrics,
): Promise<FastifyInstance> {
  const app = buildAdminServer({
    config,
    registry,
    refresh,
    askRedis: () => slot.holder(),
    isUp: () => heartbeat.isWritten,
  });
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('Content-Security-Policy', BOARD_POLICY);
  });
  const board = new FastifyAdapter();
  board.setBasePath('/queues');
  createBullBoard({
    queues: [new BullMQAdapter(queue, { readOnlyMode: true })],
    serverAdapter: board,
  });
  await app.register(board.registerPlugin(), { prefix: '/queues' });
  app.get('/', async (_request, reply) => reply.redirect('/queues'));
  return app;
}
