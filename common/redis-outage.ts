import type { Logger } from './log.ts';
import type { RedisClient } from './lua.ts';

/** One log line when Redis goes away and one when it is back, however many connections and attempts there are. */
export class OutageLog {
  readonly #log: Logger;
  readonly #away = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** For `connectRedis`: what a connection of this name reports goes here. */
  onError(name: string): (error: Error) => void {
    return (error) => {
      if (this.#away.size === 0) {
        this.#log.warn({ error: error.message }, 'Redis is away; trying again until it is back');
      }
      this.#away.add(name);
    };
  }

  /** Hears of the end of an outage. */
  watch(name: string, client: RedisClient): void {
    client.on('ready', () => {
      if (this.#away.delete(name) && this.#away.size === 0) this.#log.info('Redis is back');
    });
  }
}
