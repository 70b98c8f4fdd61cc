import { type ApiConfig, ConfigError, EXIT_CONFIG, readApiConfig } from '../common/config.ts';
import { createLogger } from '../common/log.ts';
import { whenReady } from '../common/redis.ts';
import { shutdownOnSignal } from '../common/shutdown.ts';
import { buildApp, DRAIN_MS } from './app.ts';
import { ApiMetrics } from './metrics.ts';
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

const config = configOrExit();
const log = createLogger(config.logLevel, 'api');
const services = createServices(config, log);
const metrics = new ApiMetrics(services.readiness);
const app = await buildApp({ config, services, metrics, log });
// The queue board is a large import that most replicas do without.
const admin =
  config.adminPort === undefined
    ? undefined
    : await (await import('./admin.ts')).buildAdmin(services, metrics);

shutdownOnSignal(log, DRAIN_MS + 10_000, () => [
  { name: 'http', run: async () => app.close() },
  { name: 'admin', run: async () => admin?.close() },
  ...services.closing,
]);

// Serving without Redis is right too (not_ready until it is there), but the first requests of a normal start should not see that.
await whenReady(services.redis, WAIT_FOR_REDIS_MS);
try {
  await app.listen({ host: config.host, port: config.port });
  await admin?.listen({ host: '127.0.0.1', port: config.adminPort ?? 0 });
} catch (error) {
  const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  if (!inUse) throw error;
  console.error(
    `api: ${error.message}: another program listens there; choose another ASR_PORT or ASR_ADMIN_PORT`,
  );
  process.exit(EXIT_CONFIG);
}
log.info({ address: app.listeningOrigin, adminPort: config.adminPort }, 'serving');
process.send?.({ kind: 'listening', origin: app.listeningOrigin });
