import { expect } from 'vitest';
import type { TestRedis } from '../redis/redis.ts';

/**
 * The slot, and every key of a session or an upload. Audio, results and ends live for a minute or more: none
 * of them is gone in time by its TTL.
 */
export async function keysLeft(redis: TestRedis): Promise<string[]> {
  return (await redis.keys()).filter(
    (key) => key === '{asr}:slot' || key.includes(':session:') || key.includes(':upload:'),
  );
}

/**
 * Waits until none is there. An answer goes to the client before an api process removes what its work left,
 * so from another process either may be seen right after it.
 * @param timeoutMs less than a slot lasts that nobody frees or renews: it must not go by its TTL
 */
export async function nothingLeft(redis: TestRedis, timeoutMs = 3_000): Promise<void> {
  await expect.poll(() => keysLeft(redis), { interval: 5, timeout: timeoutMs }).toEqual([]);
}
