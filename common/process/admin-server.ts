import { isIP } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { AdminConfig } from '../config/admin.ts';
import { BearerToken } from './bearer-token.ts';
import { watchProcess } from './process-metrics.ts';

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

interface AdminParts {
  readonly config: AdminConfig;
  /** Gets the metrics of the process, too. */
  readonly registry: Registry;
  /** Sends one command. @throws StoreUnavailable */
  readonly askRedis: () => Promise<unknown>;
  /** Whether Redis takes what the process writes, where that is known. */
  readonly isUp?: () => boolean;
  /** Is awaited before each answer. */
  readonly refresh?: () => Promise<void>;
}

/** A server for the operator, with `/metrics` in Prometheus' text format. It does not listen yet. */
export function buildAdminServer({
  config: { token },
  registry,
  askRedis,
  isUp,
  refresh,
}: AdminParts): FastifyInstance {
  const refreshProcess = watchProcess(registry, askRedis, isUp);
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.addHook('onRequest', token === undefined ? refuseOtherHosts : refuseWithout(new BearerToken(token)));
  app.get('/metrics', async (_request, reply) => {
    await Promise.all([refreshProcess(), refresh?.()]);
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  return app;
}

/**
 * Nobody has to say a password here. So a web page in the operator's browser could read all this, if its
 * owner lets its name point to loopback (DNS rebinding). Such a page needs a name of its own: addresses and
 * localhost are nobody's.
 */
const refuseOtherHosts: Hook = async ({ hostname }) => {
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || /^(.+\.)?localhost$/i.test(hostname)) return;
  throw refusal(403, `this is served for localhost and 127.0.0.1 only, not for "${hostname}"`);
};

/** With a token any name is served: a page that has made its name point here does not know it. */
function refuseWithout(token: BearerToken): Hook {
  return async ({ headers }, reply) => {
    if (token.isIn(headers.authorization)) return;
    reply.header('WWW-Authenticate', 'Bearer');
    throw refusal(401, 'send "Authorization: Bearer <ASR_ADMIN_TOKEN>"');
  };
}

function refusal(statusCode: number, message: string): Error {
  return Object.assign(new Error(message), { statusCode });
}
