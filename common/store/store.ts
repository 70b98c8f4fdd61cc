import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, StoreUnavailable } from '../errors/errors.ts';
import { packageRoot } from '../process/package-root.ts';
import type { RedisClient } from '../redis/client.ts';
import { RedisKeys } from './keys.ts';

/** What this service keeps in a Redis: the connection for commands, and the names of the keys. */
export class Store {
  readonly redis: RedisClient;
  readonly keys: RedisKeys;

  /** Reads all scripts at once: a running process keeps its own while an upgrade writes others. */
  constructor(redis: RedisClient, keyPrefix: string) {
    this.redis = redis;
    this.keys = new RedisKeys(keyPrefix);
    const folder = join(packageRoot(), 'common');
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      if (file.endsWith('.lua'))
        redis.defineCommand(commandOf(file), { lua: readFileSync(join(folder, file), 'utf8') });
  }

  /** @throws StoreUnavailable */
  ask<T>(command: (redis: RedisClient, keys: RedisKeys) => Promise<T>): Promise<T> {
    return fromStore(command(this.redis, this.keys));
  }

  /**
   * Carries out one atomic operation, sent as EVALSHA. If Redis has forgotten it (restart, SCRIPT FLUSH), ioredis loads
   * it again.
   * @param script a .lua file of `common/`, e.g. `slot/acquire.lua`. Its head names KEYS, ARGV and the guarantee
   * @throws StoreUnavailable
   */
  run(
    script: `${string}.lua`,
    keys: readonly string[],
    ...args: readonly (string | number)[]
  ): Promise<unknown> {
    const command = Reflect.get(this.redis, commandOf(script));
    return fromStore(Reflect.apply(command, this.redis, [keys.length, ...keys, ...args]));
  }
}

function commandOf(script: string): string {
  return `asr:${script}`;
}

/**
 * For a command of a request. Whatever stops its answer means, for the client, that the service is not ready.
 * @throws StoreUnavailable
 */
export async function fromStore<T>(command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (error) {
    throw new StoreUnavailable(`Redis: ${messageOf(error)}`, { cause: error });
  }
}
