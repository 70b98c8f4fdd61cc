import type { FastifyInstance } from 'fastify';
import { ownOrigins } from '../common/config/addresses.ts';
import { type ApiConfig, readApiConfig } from '../common/config/config.ts';
import { ConfigError, EXIT_CONFIG } from '../common/config/config-error.ts';
import { listenFailure } from '../common/process/listen-failure.ts';
import { createLogger } from '../common/process/log.ts';
import { type ShutdownStep, shutdownOnSignal } from '../common/process/shutdown.ts';
import { whenReady } from '../common/redis/connection.ts';
import { buildApp, DRAIN_MS } from './app.ts';
import { ApiMetrics } from './operations/metrics.ts';
import { createServices } from './services.ts';

const WAIT_FOR_REDIS_MS = 2_000;

function configOrExit(): ApiConfig {
  try {
    return readApiConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(`api: ${error.message}`);
    process.exit(EXIT_CONFIG);
  }
}

async function listenOrExit(
  server: FastifyInstance,
  host: string,
  port: number,
  setting?: 'ASR_ADMIN_PORT',
): Promise<void> {
  try {
    // Given that name, Fastify serves the second of its addresses by a bare server of its own, without what buildApp sets up on the first and past its shutdown.
    await server.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
  } catch (error) {
    const failure = listenFailure(error, host, port, setting);
    if (!(failure instanceof ConfigError)) throw failure;
    console.error(`api: ${failure.message}`);
    process.exit(EXIT_CONFIG);
  }
}

const config = configOrExit();
const log = createLogger(config.logLevel, 'api', undefined, config.apiToken);
const services = createServices(config, log);
const servers: ShutdownStep[] = [];
const stopping = shutdownOnSignal(['SIGTERM', 'SIGINT', 'SIGHUP'], log, DRAIN_MS + 10_000, () => [
  ...servers,
  ...services.closing,
]);

const metrics = new ApiMetrics(services);
const app = await buildApp({ config, services, metrics, log });
servers.push({ name: 'http', run: async () => app.close() });
// The queue board is a large import that most replicas do without.
const admin =
  config.adminPort === undefined
    ? undefined
    : await (await import('./operations/admin.ts')).buildAdmin(services, metrics);
servers.push({ name: 'admin', run: async () => admin?.close() });
// Serving without Redis is right too (not_ready until it is there), but the first requests of a normal start should not see that.
log.debug({ atMostMs: WAIT_FOR_REDIS_MS }, 'waiting for Redis');
await whenReady(services.redis, WAIT_FOR_REDIS_MS);
if (!stopping.aborted) {
  await listenOrExit(app, config.host, config.port);
  const listening = app.server.address();
  if (typeof listening === 'object' && listening !== null)
    services.access.allowOrigins(ownOrigins(config.host, listening.port));
  if (admin !== undefined) await listenOrExit(admin, '127.0.0.1', config.adminPort ?? 0, 'ASR_ADMIN_PORT');
  log.info({ address: app.listeningOrigin, adminAddress: admin?.listeningOrigin }, 'serving');
  process.send?.({ kind: 'listening', origin: app.listeningOrigin });
}
