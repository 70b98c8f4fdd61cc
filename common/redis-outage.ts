import type { StoreUnavailable } from './errors.ts';
import type { Logger } from './log.ts';
import type { RedisClient } from './lua.ts';
import { refusedWith } from './redis.ts';

/** What to do about a Redis that answers and will not work, by the word it refuses with. */
const REFUSALS: readonly [word: string, advice: string][] = [
  [
    'OOM',
    'its maxmemory is reached: raise it (the service itself needs less than 16 MB), or find what else fills it',
  ],
  ['READONLY', 'it is a replica: REDIS_URL must lead to the master'],
  ['NOPERM', 'the user in REDIS_URL must be allowed every command on the keys under ASR_KEY_PREFIX'],
  ['MISCONF', 'it cannot write to its disk, and need not: start it with --save "" --appendonly no'],
];

/** One log line when Redis goes away, or refuses to work, and one when that is over, however many connections and attempts there are. */
export class OutageLog {
  readonly #log: Logger;
  readonly #away = new Set<string>();
  #isRefusing = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** For `connectRedis`: what a connection of this name reports goes here. */
  onError(name: string): (error: Error) => void {
    return (error) => {
      if (this.#away.size === 0) {
        this.#log.warn({ error: reasonOf(error) }, 'Redis is away; trying again until it is back');
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

  /** A command has failed. What is no refusal is the connections' to report. */
  failed({ cause }: StoreUnavailable): void {
    const answer = cause instanceof Error ? cause.message : '';
    const advice = REFUSALS.find(([word]) => refusedWith(word, answer))?.[1];
    if (advice === undefined || this.#isRefusing) return;
    this.#isRefusing = true;
    this.#log.error({ error: answer }, `Redis refuses to work: ${advice}`);
  }

  /** A command that writes has been carried out. */
  worked(): void {
    if (this.#isRefusing) this.#log.info('Redis works again');
    this.#isRefusing = false;
  }
}

/** What a Cluster's client says itself is only that no node would do. */
function reasonOf(error: Error): string {
  const node = 'lastNodeError' in error ? error.lastNodeError : undefined;
  return node instanceof Error ? `${error.message} ${node.message}` : error.message;
}
