import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommonConfig } from '../../common/config/config.ts';
import { printable } from '../../common/errors/printable.ts';
import { ReadinessStore } from '../../common/readiness/readiness.ts';
import { Outage, outageText } from '../../common/redis/advice/outage.ts';
import { closeRedis, connectRedis } from '../../common/redis/connection.ts';
import { Store } from '../../common/store/store.ts';
import type { Service } from './announcement.ts';

const LOOK_AGAIN_MS = 50;
const ANSWER_MS = 2_000;

type ReachedService = Pick<Service, 'origin' | 'token'>;

/**
 * Waits until the service can recognize: an inference process has said so, and then the api process too. (The
 * api process would log every question.)
 * @param onFailure is told once for each reason: why a model does not load, or that a Redis of somebody else
 * is away or refuses. No control characters.
 * @throws what `signal` was aborted with
 */
export async function whenServing(
  service: ReachedService,
  { redis: target, keyPrefix }: CommonConfig,
  onFailure: (reason: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const outage = new Outage();
  const redis = connectRedis(target, 'commands', 'asr-launch', (error) => {
    const news = outage.heard(error);
    if (news !== undefined) onFailure(printable(outageText(news)));
  });
  redis.on('ready', () => outage.over());
  try {
    const store = new ReadinessStore(new Store(redis, keyPrefix));
    let lastError: string | undefined;
    for (;;) {
      // While Redis is not there its connection has said so.
      const readiness = await store.read().catch(() => undefined);
      if (readiness?.ready === true && (await isReady(service, signal))) return;
      // During the next attempt to load there is no error.
      const error = readiness?.error ?? lastError;
      if (error !== undefined && error !== lastError) onFailure(printable(error));
      lastError = error;
      await sleep(LOOK_AGAIN_MS, undefined, { signal });
    }
  } finally {
    closeRedis(redis);
  }
}

/**
 * Asks past any proxy of the environment, which has another 127.0.0.1. Node's `fetch` would ask that proxy
 * too if NODE_USE_ENV_PROXY is set.
 */
function isReady({ origin, token }: ReachedService, signal: AbortSignal): Promise<boolean> {
  const options = {
    agent: false,
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
  };
  return new Promise((resolve) => {
    get(`${origin}/readyz`, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false)); // nobody listens there yet, or the wait is over
  });
}
