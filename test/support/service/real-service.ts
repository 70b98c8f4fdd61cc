import { SMALL_CTC } from '../audio/fixtures.ts';
import type { StreamClient } from '../clients/stream-client.ts';
import { startRedis, type TestRedis } from '../redis/redis.ts';
import { AUTHORIZED, TOKEN } from './api.ts';
import { ProcessUnderTest } from './inference-process.ts';

const READY_MS = 30_000;

/** An api replica as a real process on a free port. @param script below `dist/`, if it is to be another build's */
export async function startApiProcess(
  env: Readonly<Record<string, string>>,
  script = 'api/main.js',
): Promise<{ process: ProcessUnderTest; origin: string; wsUrl: string }> {
  const api = new ProcessUnderTest(script, { ASR_API_TOKEN: TOKEN, ASR_PORT: '0', ...env });
  const origin = String((await api.firstLogged('serving'))['address']);
  return { process: api, origin, wsUrl: `${origin.replace('http', 'ws')}/ws/asr` };
}

/**
 * An inference process with the real engine and, where `env` names no other, the small model; it loads while
 * the test goes on.
 */
export function startInferenceProcess(env: Readonly<Record<string, string>>): ProcessUnderTest {
  return new ProcessUnderTest('inference/main.js', { ASR_MODEL: SMALL_CTC, ...env });
}

/** Asks /readyz until it says ready, as a deployment would. */
export async function untilReady(origin: string): Promise<void> {
  const untilMs = performance.now() + READY_MS;
  for (;;) {
    const response = await fetch(`${origin}/readyz`, { headers: AUTHORIZED });
    const body = await response.text();
    if (response.status === 200) return;
    if (performance.now() > untilMs) throw new Error(`not ready after ${READY_MS} ms: ${body}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The whole service as it is deployed: real processes. */
export interface RealService {
  readonly redis: TestRedis;
  readonly api: ProcessUnderTest;
  readonly inference: ProcessUnderTest;
  readonly origin: string;
  readonly wsUrl: string;
  stop(): Promise<void>;
}

/** @param env of both processes. @param redisImage see startRedis. @returns when it is ready to recognize */
export async function startRealService(
  env: Readonly<Record<string, string>> = {},
  redisImage?: string,
): Promise<RealService> {
  const redis = await startRedis([], [], redisImage);
  const settings = { REDIS_URL: redis.url, ...env };
  const inference = startInferenceProcess(settings);
  const { process: api, origin, wsUrl } = await startApiProcess(settings);
  await untilReady(origin);
  return {
    ...{ redis, api, inference, origin, wsUrl },
    async stop() {
      await api.stop();
      await inference.stop();
      await redis.stop();
    },
  };
}

/**
 * Sends audio, a frame every `periodMs`: faster than real time, and slowly enough that a model that keeps up
 * is never two seconds behind.
 */
export async function sendPaced(
  client: StreamClient,
  pcm: Buffer,
  frameBytes: number,
  periodMs: number,
): Promise<void> {
  for (let start = 0; start < pcm.length; start += frameBytes) {
    client.audio(pcm.subarray(start, start + frameBytes));
    await new Promise((resolve) => setTimeout(resolve, periodMs));
  }
}
