import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { AsrClient, AsrError } from '../../api/client/node.ts';
import { ProcessUnderTest } from '../support/inference-process.ts';
import { startInferenceProcess } from '../support/real-service.ts';
import { startRedis } from '../support/redis.ts';

export const TOKEN = 'client-test-token-0123456789';

/** The whole service as real processes (Redis, api, inference with the small model unless `env` names another), ready to recognize. */
export interface RealService {
  readonly url: string;
  readonly client: AsrClient;
  stop(): Promise<void>;
}

export async function startRealService(env: Readonly<Record<string, string>> = {}): Promise<RealService> {
  const redis = await startRedis();
  const common = { REDIS_URL: redis.url, ASR_API_TOKEN: TOKEN };
  const api = new ProcessUnderTest('api/main.js', { ...common, ASR_PORT: '0', ...env });
  const inference = startInferenceProcess({ ...common, ...env });
  const stop = async (): Promise<void> => {
    await api.stop();
    await inference.stop();
    await redis.stop();
  };
  const ended = Promise.race([api.exited, inference.exited]).then(() => {
    throw new Error(`a process has ended:\n${api.stdout}${api.stderr}${inference.stdout}${inference.stderr}`);
  });
  try {
    const [{ origin: url }] = await Promise.race([once(api.child, 'message'), ended]);
    const client = new AsrClient({ url, apiToken: TOKEN });
    await Promise.race([untilReady(client), ended]);
    return { url, client, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    ended.catch(() => {});
  }
}

async function untilReady(client: AsrClient): Promise<void> {
  for (;;) {
    const { status, error } = await client.ready();
    if (status === 'ready') return;
    if (error) throw new AsrError('not_ready', error);
    await delay(50);
  }
}
