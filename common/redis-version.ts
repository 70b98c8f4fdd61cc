import type { RedisClient } from './lua.ts';

/** XADD NOMKSTREAM, which ends a session's audio with the session, came with it. */
const NEEDED = [6, 2] as const;

/**
 * @param needed the oldest version that will do: major and minor
 * @returns one line for the operator when this Redis is too old, else (also when it does not say) undefined.
 */
export async function versionWarning(
  redis: RedisClient,
  needed: readonly [number, number] = NEEDED,
): Promise<string | undefined> {
  return tooOld(await redis.info('server').catch(() => ''), needed);
}

/** @param info what INFO answers  @param needed as above */
export function tooOld(info: string, needed: readonly [number, number] = NEEDED): string | undefined {
  const [, version, major = '', minor = ''] = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(info) ?? [];
  if (version === undefined || Number(major) > needed[0]) return undefined;
  if (Number(major) === needed[0] && Number(minor) >= needed[1]) return undefined;
  return `this Redis is ${version}: streams do not work with it; install ${needed.join('.')} or newer`;
}
