import { collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import { packageVersion } from './package-root.ts';

/**
 * What every process says of itself: its version, whether and how fast Redis answers, and Node's own metrics
 * (memory, event-loop delay, garbage collection). Those look at the process a hundred times a second, so this
 * is called only where somebody can read them.
 * @param askRedis sends one command. @throws StoreUnavailable
 * @param isUp whether Redis takes what the process writes
 * @returns what asks Redis, to be called for each answer to Prometheus
 */
export function watchProcess(
  registry: Registry,
  askRedis: () => Promise<unknown>,
  isUp: () => boolean = () => true,
): () => Promise<void> {
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'asr_build_info',
    help: 'Version of this program; the value is always 1',
    labelNames: ['version'] as const,
    registers,
  }).set({ version: packageVersion() }, 1);
  const up = new Gauge({
    name: 'asr_redis_up',
    help: '1 while Redis answers and takes what this process writes',
    registers,
  });
  const roundTrip = new Histogram({
    name: 'asr_redis_round_trip_seconds',
    help: 'From a command to the answer of Redis, once for each scrape that it answers',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    registers,
  });
  return async () => {
    const startedAtMs = performance.now();
    const answers = await askRedis().then(
      () => true,
      () => false,
    );
    up.set(answers && isUp() ? 1 : 0);
    if (answers) roundTrip.observe((performance.now() - startedAtMs) / 1000);
  };
}
