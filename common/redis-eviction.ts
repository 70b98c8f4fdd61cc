import type { RedisClient } from './lua.ts';

/** @returns one line for the operator when this Redis drops keys rather than refuse new ones, else (also when it does not say) undefined. */
export async function evictionWarning(redis: RedisClient): Promise<string | undefined> {
  return evicting(await redis.info('memory').catch(() => ''));
}

/** @param info what INFO answers */
export function evicting(info: string): string | undefined {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy === undefined || policy === 'noeviction') return undefined;
  return `this Redis drops keys when its memory is full (maxmemory-policy ${policy}), recordings among them; set maxmemory-policy noeviction`;
}
