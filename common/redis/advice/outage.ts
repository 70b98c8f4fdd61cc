import type { StoreUnavailable } from '../../errors/errors.ts';
import type { Logger } from '../../process/log.ts';
import type { RedisClient } from '../client.ts';
import { isRefusal, reasonOf, remedyFor } from './remedies.ts';

/** Longer than a connection to a Redis that does not answer takes to say so. */
const UNEXPLAINED_MS = 10_000;
const UNEXPLAINED_TODO =
  'look into its own log, at redis-cli INFO replication and, of a Cluster, at CLUSTER INFO';

/** What there is to say of a Redis that cannot be used. */
interface OutageNews {
  /** `error` needs somebody to do something about it; `warn` may end by itself. */
  readonly level: 'warn' | 'error';
  readonly event: 'Redis is away' | 'Redis refuses';
  /** In the words of Redis or of the connection. */
  readonly reason: string;
  readonly todo: string | undefined;
}

/** One line for a person. Of a command that it lacks, Redis repeats the arguments: a password may be among them. */
export function outageText({ event, reason, todo }: OutageNews): string {
  const words = reason.replace(/, with args beginning with: .*/s, '');
  return `${event} (${words})${todo === undefined ? '' : `: ${todo}`}`;
}

function newsOf(reason: string): OutageNews {
  const todo = remedyFor(reason);
  if (isRefusal(reason)) return { level: 'error', event: 'Redis refuses', reason, todo };
  return { level: 'warn', event: 'Redis is away', reason, todo };
}

/** Decides what to say of an outage: one line, and another one only if a Redis that was away answers now but refuses. */
export class Outage {
  #told: OutageNews['level'] | undefined;

  /** A connection has reported this. @returns what has not been said yet */
  heard(error: Error): OutageNews | undefined {
    const news = newsOf(reasonOf(error));
    if (this.#told === 'error' || this.#told === news.level) return undefined;
    this.#told = news.level;
    return news;
  }

  over(): void {
    this.#told = undefined;
  }
}

/**
 * One log line when Redis goes away, or refuses to work, and one when that is over, however many connections
 * and attempts there are.
 */
export class OutageLog {
  readonly #log: Logger;
  readonly #away = new Set<string>();
  readonly #outage = new Outage();
  #isRefusing = false;
  #failingSinceMs: number | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** For `connectRedis`: what a connection of this name reports goes here. */
  onError(name: string): (error: Error) => void {
    return (error) => {
      this.#away.add(name);
      const news = this.#outage.heard(error);
      if (news !== undefined) this.#log[news.level]({ error: news.reason, todo: news.todo }, news.event);
    };
  }

  /** Hears of the end of an outage. */
  watch(name: string, client: RedisClient): void {
    client.on('ready', () => {
      if (!this.#away.delete(name) || this.#away.size > 0) return;
      this.#outage.over();
      this.#log.info('Redis is back');
    });
  }

  /**
   * A heartbeat could not be written. A connection that is away says why by itself. If a Cluster is down, all
   * connections wait and say nothing.
   */
  failed({ cause }: StoreUnavailable): void {
    this.#failingSinceMs ??= performance.now();
    if (this.#isRefusing || this.#away.size > 0) return;
    const error = cause instanceof Error ? cause.message : '';
    const isUnexplained = performance.now() - this.#failingSinceMs >= UNEXPLAINED_MS;
    if (isRefusal(error)) this.#log.error({ error, todo: remedyFor(error) }, 'Redis refuses');
    else if (isUnexplained) this.#log.error({ error, todo: UNEXPLAINED_TODO }, 'Redis carries nothing out');
    else return;
    this.#isRefusing = true;
  }

  /** A heartbeat was written. */
  worked(): void {
    if (this.#isRefusing) this.#log.info('Redis works again');
    this.#isRefusing = false;
    this.#failingSinceMs = undefined;
  }
}
