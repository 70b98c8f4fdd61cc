import { ownOrigins } from '../common/config/addresses.ts';
import { type ApiConfig, readApiConfig } from '../common/config/config.ts';
import { ConfigError, EXIT_CONFIG } from '../common/config/config-error.ts';
import { unknownNames } from '../common/config/known-names.ts';
import { listen } from '../common/process/listen-failure.ts';
import { createLogger } from '../common/process/log.ts';
import { logUnhandledErrors, type ShutdownStep, shutdownOnSignal } from '../common/process/shutdown.ts';
import { whenReady } from '../common/redis/connection.ts';
import { buildApp, DRAIN_MS } from './app.ts';
import { ApiMetrics } from './operations/metrics.ts';
import { createServices } from './services.ts';

const WAIT_FOR_REDIS_MS = 2_000;

const ADMIN = { host: 'ASR_ADMIN_HOST', port: 'ASR_ADMIN_PORT' } as const;

/** A wrong setting ends the process with one line. */
async function orExit<T>(start: Promise<T>): Promise<T> {
  try {
    return await start;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(`api: ${error.message}`);
    process.exit(EXIT_CONFIG);
  }
}

const readConfig = async (): Promise<ApiConfig> => readApiConfig(process.env);
/**
 * Runs one replica until a signal ends it.
 * @param listensItself is called when it listens to signals
 */
export async function serve(listensItself: () => void): Promise<void> {
  const config = await orExit(readConfig());
  const log = createLogger(config.logLevel, 'api', undefined, config.apiToken);
  logUnhandledErrors(log);
  for (const unknown of unknownNames(process.env)) log.warn(unknown, 'unknown setting');
  // Tracing starts before the first server, because it watches that one. Its SDK is a large import that most replicas do without.
  const traces = config.traces ? [(await import('./operations/tracing.ts')).startTracing()] : [];
  const services = createServices(config, log);
  const servers: ShutdownStep[] = [];
  const stopping = shutdownOnSignal(['SIGTERM', 'SIGINT', 'SIGHUP'], log, DRAIN_MS + 10_000, () => [
    ...servers,
    ...services.closing,
    ...traces,
  ]);
  listensItself();

  const metrics = new ApiMetrics(services);
  const app = await buildApp({ config, services, metrics, log });
  servers.push({ name: 'http', run: async () => app.close() });
  // The queue board is a large import that most replicas do without.
  const admin =
    config.admin &&
    (await (await import('./operations/admin.ts')).buildAdmin(config.admin, services, metrics));
  servers.push({ name: 'admin', run: async () => admin?.close() });
  // Serving without Redis is right too (not_ready until it is there). But the first requests of a normal
  // start should not see that.
  log.debug({ atMostMs: WAIT_FOR_REDIS_MS }, 'waiting for Redis');
  await whenReady(services.redis, WAIT_FOR_REDIS_MS);
  if (!stopping.aborted) {
    await orExit(listen(app, config.host, config.port));
    const listening = app.server.address();
    if (typeof listening === 'object' && listening !== null)
      services.access.allowOrigins(ownOrigins(config.host, listening.port));
    if (admin && config.admin) await orExit(listen(admin, config.admin.host, config.admin.port, ADMIN));
    log.info({ address: app.listeningOrigin, adminAddress: admin?.listeningOrigin }, 'serving');
  }
}
