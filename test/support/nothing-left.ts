import { expect } from 'vitest';
import type { TestRedis } from './redis.ts';

/**
 * Waits until the slot is free and no key of a session or an upload is there. An answer goes to the client before what its work left is removed, so either may
 * be seen right after it. Audio, results and ends live for a minute or more: none of them is gone in time by its TTL.
 */
export async function nothingLeft(redis: TestRedis, timeoutMs: number): Promise<void> {
  const left = async () =>
    (await redis.keys()).filter(
      (key) => key === '{asr}:slot' || key.includes(':session:') || key.includes(':upload:'),
    );
  await expect.poll(left, { interval: 5, timeout: timeoutMs }).toEqual([]);
}
