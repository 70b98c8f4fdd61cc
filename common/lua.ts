import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster, Redis } from 'ioredis';
import { packageRoot } from './package-root.ts';

export type RedisClient = Redis | Cluster;

/**
 * One atomic operation on the store: a .lua file of `common/`, whose header names KEYS, ARGV and the guarantee.
 * Sent as EVALSHA; ioredis loads it again when Redis has forgotten it (restart, SCRIPT FLUSH).
 */
export class LuaScript {
  readonly #command: string;
  readonly #lua: string;
  readonly #numberOfKeys: number;
  readonly #defined = new WeakSet<RedisClient>();

  /** @param path below `common/`, e.g. `slot/acquire.lua` */
  constructor(path: string, numberOfKeys: number) {
    this.#command = `asr:${path.replace(/\.lua$/, '')}`;
    this.#lua = readFileSync(join(packageRoot(), 'common', path), 'utf8');
    this.#numberOfKeys = numberOfKeys;
  }

  async run(
    redis: RedisClient,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    if (keys.length !== this.#numberOfKeys)
      throw new RangeError(`${this.#command} takes ${this.#numberOfKeys} keys, not ${keys.length}`);
    if (!this.#defined.has(redis)) {
      redis.defineCommand(this.#command, { lua: this.#lua, numberOfKeys: this.#numberOfKeys });
      this.#defined.add(redis);
    }
    const method: unknown = Reflect.get(redis, this.#command);
    if (typeof method !== 'function') throw new TypeError(`${this.#command} is not defined on this client`);
    return await Reflect.apply(method, redis, [...keys, ...args]);
  }
}
