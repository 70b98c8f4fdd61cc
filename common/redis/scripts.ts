import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster, Redis } from 'ioredis';
import { packageRoot } from '../process/package-root.ts';

export type RedisClient = Redis | Cluster;

/**
 * One atomic operation on the store: a .lua file of `common/`, whose header names KEYS, ARGV and the guarantee.
 * Sent as EVALSHA; ioredis loads it again when Redis has forgotten it (restart, SCRIPT FLUSH).
 */
export class LuaScript {
  readonly #command: string;
  readonly #lua: string;

  /** @param path below `common/`, e.g. `slot/acquire.lua` */
  constructor(path: string) {
    this.#command = `asr:${path.replace(/\.lua$/, '')}`;
    this.#lua = readFileSync(join(packageRoot(), 'common', path), 'utf8');
  }

  async run(
    redis: RedisClient,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    if (!(this.#command in redis)) redis.defineCommand(this.#command, { lua: this.#lua });
    return await Reflect.apply(Reflect.get(redis, this.#command), redis, [keys.length, ...keys, ...args]);
  }
}
