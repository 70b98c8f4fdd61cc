import type { Logger } from './log.ts';
import type { RedisClient } from './lua.ts';
import { evictionWarning } from './redis-eviction.ts';
import { persistenceWarning } from './redis-persistence.ts';
import { versionWarning } from './redis-version.ts';

/** Once it is there, looks at the Redis that a process got, and logs what it should not be: one that writes recordings to a disk, drops keys or is too old. */
export function warnOfRedis(redis: RedisClient, log: Logger): void {
  redis.once('ready', () => {
    for (const look of [persistenceWarning, versionWarning, evictionWarning])
      look(redis).then((warning) => warning !== undefined && log.warn(warning));
  });
}
