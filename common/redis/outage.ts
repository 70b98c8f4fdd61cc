import type { StoreUnavailable } from '../errors/errors.ts';
import type { Logger } from '../process/log.ts';
import type { RedisClient } from './scripts.ts';

/** The beginning of a line about a Redis that may come back by itself. */
export const AWAY = 'Redis is away; trying again until it is back';

/** An `error` needs somebody to do something about it; a `warn` may end by itself. */
type Level = 'warn' | 'error';

/** What the answer of Redis, or the error of a connection, means and what to do about it. The first that fits counts. */
const DIAGNOSES: readonly [sign: RegExp, line: string, level?: Level][] = [
  [/WRONGPASS/, 'Redis refuses the user or password in REDIS_URL: correct it there'],
  [
    /NOAUTH/,
    'Redis wants a password, and REDIS_URL has none: add it there, as in redis://:PASSWORD@HOST:PORT',
  ],
  [
    /NOPERM/,
    'Redis refuses a command to the user in REDIS_URL: allow it every command on the keys under ASR_KEY_PREFIX',
  ],
  [
    /DB index is out of range/,
    'Redis does not have the database in REDIS_URL: name one there that it has, e.g. /0 at the end',
  ],
  [
    /max number of clients/,
    'Redis takes no more connections: raise its maxclients, or find who holds them with redis-cli CLIENT LIST',
  ],
  [
    /\bOOM\b/,
    'Redis is full: raise its maxmemory (the service itself needs less than 16 MB), or find what else fills it',
  ],
  [/READONLY/, 'Redis is a replica, which takes no writes: REDIS_URL must lead to the master'],
  [
    /NOREPLICAS/,
    'Redis has fewer replicas than its min-replicas-to-write: bring them back, or set that to 0 (the service needs none)',
  ],
  [/MISCONF/, 'Redis cannot write to its disk, and need not: start it with --save "" --appendonly no'],
  [/LOADING/, 'Redis is loading what it kept on disk: wait, then start it with --save "" --appendonly no'],
  [
    /CLUSTERDOWN/,
    'Redis has a Cluster that is down: find the missing nodes with redis-cli CLUSTER NODES, and start them',
  ],
  [/cluster support disabled/, 'Redis is no Cluster: name it with redis://HOST:PORT in REDIS_URL'],
  // A Redis that lacks a command names it, and this one is sent to Sentinels alone.
  [
    /get-master-addr-by-name/,
    'Redis answers where REDIS_URL names a Sentinel: name the Sentinels (their port is mostly 26379), or that Redis with redis://HOST:PORT',
  ],
  [
    /unknown (redis )?command/i,
    'Redis lacks a command: give it back where its configuration says rename-command; a Sentinel is named with redis+sentinel://HOST:PORT/MASTER',
  ],
  [
    /certificate required/,
    'Redis wants a certificate of its clients, and this service has none: start it with --tls-auth-clients no',
  ],
  [
    /certificate/,
    'Redis has a certificate that is not trusted here: name its CA in NODE_EXTRA_CA_CERTS, and in REDIS_URL a host that the certificate names',
  ],
  [/ECONNREFUSED/, `${AWAY}. Nothing listens at its address: start it, or correct REDIS_URL`, 'warn'],
  [/ENOTFOUND/, `${AWAY}. Its host has no address: start it, or correct the name in REDIS_URL`, 'warn'],
  [
    /ECONNRESET|EPIPE/,
    `${AWAY}. It ended the connection: raise its maxclients if that is reached; if it speaks TLS, begin REDIS_URL with rediss://`,
    'warn',
  ],
  [
    /ETIMEDOUT/,
    `${AWAY}. Nobody answered: correct the address in REDIS_URL; if Redis has no TLS, begin it with redis://`,
    'warn',
  ],
];

/** Longer than a connection to a Redis that does not answer takes to say so. */
const UNEXPLAINED_MS = 10_000;
const UNEXPLAINED =
  'Redis carries nothing out, and no connection has said why: look into its own log, at redis-cli INFO replication and, of a Cluster, at CLUSTER INFO';

interface OutageLine {
  readonly level: Level;
  readonly line: string;
  /** The error in its own words. */
  readonly reason: string;
}

function diagnose(reason: string): OutageLine {
  const found = DIAGNOSES.find(([sign]) => sign.test(reason));
  if (found === undefined) return { level: 'warn', line: AWAY, reason };
  const [, line, level = 'error'] = found;
  return { level, line, reason };
}

/** Decides what to say of an outage: one line, and another one only if a Redis that was away answers now but refuses. */
export class Outage {
  #told: Level | undefined;

  /** A connection has reported this. @returns what has not been said yet */
  heard(error: Error): OutageLine | undefined {
    const news = diagnose(reasonOf(error));
    if (this.#told === 'error' || this.#told === news.level) return undefined;
    this.#told = news.level;
    return news;
  }

  over(): void {
    this.#told = undefined;
  }
}

/** One log line when Redis goes away, or refuses to work, and one when that is over, however many connections and attempts there are. */
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
      if (news !== undefined) this.#log[news.level]({ error: news.reason }, news.line);
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

  /** A command has failed. A connection that is away says why by itself. If a Cluster is down, all connections wait and say nothing. */
  failed({ cause }: StoreUnavailable): void {
    this.#failingSinceMs ??= performance.now();
    if (this.#isRefusing || this.#away.size > 0) return;
    const reason = cause instanceof Error ? cause.message : '';
    const isUnexplained = performance.now() - this.#failingSinceMs >= UNEXPLAINED_MS;
    const { level, line } = diagnose(reason);
    if (level === 'warn' && !isUnexplained) return;
    this.#isRefusing = true;
    this.#log.error({ error: reason }, level === 'warn' ? UNEXPLAINED : line);
  }

  /** A watched command has been carried out. In inference that is one that writes, in the API a look at the readiness. */
  worked(): void {
    if (this.#isRefusing) this.#log.info('Redis works again');
    this.#isRefusing = false;
    this.#failingSinceMs = undefined;
  }
}

/** A Cluster's client itself says only that no node would do. If a name has several addresses, the error has no message at all. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map(String).join('; ');
  const node = 'lastNodeError' in error ? error.lastNodeError : undefined;
  return node instanceof Error ? `${error.message} ${node.message}` : error.message;
}
