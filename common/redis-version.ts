import type { RedisClient } from './lua.ts';

/** XADD NOMKSTREAM, which ends a session's audio with the session, came with it. */
const NEEDED = [6, 2] as const;

/** @returns one line for the operator when this Redis is too old, else (also when it does not say) undefined. */
export async function versionWarning(redis: RedisClient): Promise<string | undefined> {
  return tooOld(await serverInfo(redis));
}

/** @returns what this Redis says of itself, its version among it; nothing where it may not */
export function serverInfo(redis: RedisClient): Promise<string> {
  return redis.info('server').catch(() => '');
}

/** @param info what INFO answers */
export function tooOld(info: string): string | undefined {
  const [, version, major = '', minor = ''] = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(info) ?? [];
  if (version === undefined || Number(major) > NEEDED[0]) return undefined;
  if (Number(major) === NEEDED[0] && Number(minor) >= NEEDED[1]) return undefined;
  return `this Redis is ${version}: streams do not work with it; install ${NEEDED.join('.')} or newer`;
}
