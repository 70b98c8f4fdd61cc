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
    const reason = error instanceof Error ? error.message : String(error);
    return `cannot tell whether this Redis writes recordings to disk (CONFIG GET: ${reason}); make sure that it has save "" and appendonly no`;
  }
  if (save === undefined || appendonly === undefined) {
    return 'cannot tell whether this Redis writes recordings to disk (CONFIG GET answers nothing); make sure that it has save "" and appendonly no';
  }
  if (save === '' && appendonly === 'no') return undefined;
  return `this Redis may write recordings to disk (save "${save}", appendonly ${appendonly}); start it with: --save "" --appendonly no`;
}

/** RESP2 answers `[name, value]`. */
function settingOf(reply: unknown): string | undefined {
  const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
  return typeof value === 'string' ? value : undefined;
}
