import { startApi, type TestApi } from '../support/api.ts';
import { startInference } from '../support/inference.ts';
import { startRedis } from '../support/redis.ts';

/** The service without processes of its own, with the scripted recognizer, for a proxy to stand in front. */
export async function startService(
  env: Record<string, string> = {},
): Promise<{ readonly api: TestApi; stop(): Promise<void> }> {
  const redis = await startRedis();
  const [api, inference] = await Promise.all([startApi(redis.url, env), startInference(redis.url)]);
  return {
    api,
    async stop() {
      await api.stop();
      await inference.stop();
      await redis.stop();
    },
  };
}
