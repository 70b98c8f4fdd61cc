import { hostname } from 'node:os';
import { readInferenceConfig } from '../common/config/config.ts';
import { ReadinessStore } from '../common/readiness/readiness.ts';
import { closeRedis, connectRedis, whenReady } from '../common/redis/connection.ts';
import { Store } from '../common/store/store.ts';

const REDIS_MS = 2_000;

/**
 * Whether the inference process of this host has loaded its model. Asked in a container, which is a host of
 * its own and serves no port.
 */
async function isReady(): Promise<boolean> {
  const config = readInferenceConfig(process.env);
  const redis = connectRedis(config.redis, 'commands', 'asr-inference-health', () => undefined);
  try {
    if (!(await whenReady(redis, REDIS_MS))) return false;
    const { processes } = await new ReadinessStore(new Store(redis, config.keyPrefix)).read();
    return processes.some(({ host, state }) => host === hostname() && state === 'ready');
  } finally {
    closeRedis(redis);
  }
}

process.exitCode = (await isReady()) ? 0 : 1;
