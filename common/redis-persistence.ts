import { messageOf } from './errors.ts';
import type { RedisClient } from './lua.ts';

/**
 * Recordings must never reach a disk, and they pass through Redis.
 * @returns undefined when Redis keeps nothing on disk, else one line for the operator: what it has, or why that cannot be told.
 */
export async function persistenceWarning(redis: RedisClient): Promise<string | undefined> {
  let save: string | undefined;
  let appendonly: string | undefined;
  try {
    save = settingOf(await redis.config('GET', 'save'));
    appendonly = settingOf(await redis.config('GET', 'appendonly'));
  } catch (error) {
    const reason = messageOf(error);
    return `cannot tell whether this Redis writes recordings to disk (CONFIG GET: ${reason}); make sure that it has save "" and appendonly no`;
  }
  return writesToDisk(save, appendonly) ?? synchronizationWarning(redis);
}

/** @param save what CONFIG GET answers; undefined where it answers nothing  @param appendonly likewise */
export function writesToDisk(save: string | undefined, appendonly: string | undefined): string | undefined {
  if (save === undefined || appendonly === undefined) {
    return 'cannot tell whether this Redis writes recordings to disk (CONFIG GET answers nothing); make sure that it has save "" and appendonly no';
  }
  if (save === '' && appendonly === 'no') return undefined;
  return `this Redis may write recordings to disk (save "${save}", appendonly ${appendonly}); start it with: --save "" --appendonly no`;
}

/** A replica that gets the whole data set writes it to its disk first and keeps it there, and before Redis 7 its master writes it, too, unless told otherwise. */
async function synchronizationWarning(redis: RedisClient): Promise<string | undefined> {
  const replication = await redis.info('replication').catch(() => '');
  if (!/^(role:slave|connected_slaves:[1-9])/m.test(replication)) return undefined;
  const sync = settingOf(await redis.config('GET', 'repl-diskless-sync').catch(() => undefined));
  const load = settingOf(await redis.config('GET', 'repl-diskless-load').catch(() => undefined));
  if (sync === 'yes' && load === 'swapdb') return undefined;
  return `this Redis has replicas, and one that joins may write recordings to disk (repl-diskless-sync ${sync}, repl-diskless-load ${load}); start all of them with: --repl-diskless-sync yes --repl-diskless-load swapdb`;
}

/** RESP2 answers `[name, value]`. */
function settingOf(reply: unknown): string | undefined {
  const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
  return typeof value === 'string' ? value : undefined;
}
