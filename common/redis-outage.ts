import type { StoreUnavailable } from './errors.ts';
import type { Logger } from './log.ts';
import type { RedisClient } from './lua.ts';
import { DATABASE_REFUSED, refusedWith } from './redis.ts';

/** Whether Redis refused a command that it does not have, also from within a script: `ERR Unknown Redis command called from script …`, which Redis 6.2 puts behind the script's line. */
const isCommandMissing = (answer: string): boolean => /\bunknown (redis )?command /i.test(answer);
const COMMAND_MISSING =
  'it lacks a command that the service needs: give it back where its configuration says rename-command, or take another store; a Sentinel is named with redis+sentinel://HOST:PORT/MASTER';

/** What to do about a Redis that answers and will not work, by the word it refuses with. */
const REFUSALS: readonly [word: string, advice: string][] = [
  [
    'OOM',
    'its maxmemory is reached: raise it (the service itself needs less than 16 MB), or find what else fills it',
  ],
  ['READONLY', 'it is a replica: REDIS_URL must lead to the master'],
  ['NOPERM', 'the user in REDIS_URL must be allowed every command on the keys under ASR_KEY_PREFIX'],
  [
    'NOREPLICAS',
    'it has fewer replicas than its min-replicas-to-write: bring them back, or set that to 0 (the service needs none)',
  ],
  ['MISCONF', 'it cannot write to its disk, and need not: start it with --save "" --appendonly no'],
];

/** Longer than a connection to a Redis that does not answer takes to say so. */
const UNEXPLAINED_MS = 10_000;
const UNEXPLAINED =
  'Redis carries nothing out, and no connection has said why: look into its own log, at redis-cli INFO replication and, of a Cluster, at CLUSTER INFO';

/** What to do about a Redis that refuses the connection itself, by a part of its answer; the first that fits counts. The refusal of a database may hold any of the others. */
const REFUSED_CONNECTIONS: readonly [part: string, line: string][] = [
  [
    DATABASE_REFUSED,
    'Redis refuses the database in REDIS_URL: name one there that it has and the user may select, e.g. /0 at the end',
  ],
  ['WRONGPASS ', 'Redis refuses the user or password in REDIS_URL: correct it there'],
  [
    'NOAUTH ',
    'Redis wants a password, and REDIS_URL has none: add it there, as in redis://:PASSWORD@HOST:PORT',
  ],
  [
    'ERR max number of clients ',
    'Redis takes no more connections: raise its maxclients, or find who holds them with redis-cli CLIENT LIST',
  ],
  // A Redis that lacks a command names it: this one is sent to Sentinels alone.
  [
    'get-master-addr-by-name',
    'REDIS_URL names a Redis where a Sentinel should be: name the Sentinels there (their port is mostly 26379), or that Redis with redis://HOST:PORT',
  ],
  ['ERR unknown command ', `Redis refuses to work: ${COMMAND_MISSING}`],
  [
    'certificate required',
    'Redis wants a certificate of its clients, and this service has none: start it with --tls-auth-clients no',
  ],
  [
    'certificate',
    'Redis and this process do not agree on a certificate: a private CA goes into NODE_EXTRA_CA_CERTS, and the host in REDIS_URL must be one that the certificate names',
  ],
];

interface OutageLine {
  readonly line: string;
  /** Redis answers: somebody has to do something about it. */
  readonly isRefusal: boolean;
  /** The error in its own words. */
  readonly reason: string;
}

/** What is to be said of an outage: one line, and another one only when a Redis that was away answers now, but refuses. */
export class Outage {
  #told: 'nothing' | 'absence' | 'refusal' = 'nothing';

  /** A connection has reported this. @returns what has not been said yet */
  heard(error: Error): OutageLine | undefined {
    const reason = reasonOf(error);
    const refusal = REFUSED_CONNECTIONS.find(([part]) => reason.includes(part))?.[1];
    const isRefusal = refusal !== undefined;
    if (this.#told === 'refusal' || (this.#told === 'absence' && !isRefusal)) return undefined;
    this.#told = isRefusal ? 'refusal' : 'absence';
    return { line: refusal ?? 'Redis is away; trying again until it is back', isRefusal, reason };
  }

  over(): void {
    this.#told = 'nothing';
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
      if (news !== undefined) this.#log[news.isRefusal ? 'error' : 'warn']({ error: news.reason }, news.line);
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

  /** A command has failed. What is no refusal is the connections' to report; a Cluster that is down, for one, they wait for and say nothing. */
  failed({ cause }: StoreUnavailable): void {
    this.#failingSinceMs ??= performance.now();
    if (this.#isRefusing) return;
    const answer = cause instanceof Error ? cause.message : '';
    const refusal = REFUSALS.find(([word]) => refusedWith(word, answer))?.[1];
    const advice = isCommandMissing(answer) ? COMMAND_MISSING : refusal;
    const isUnexplained = this.#away.size === 0 && performance.now() - this.#failingSinceMs >= UNEXPLAINED_MS;
    if (advice === undefined && !isUnexplained) return;
    this.#isRefusing = true;
    this.#log.error(
      { error: answer },
      advice === undefined ? UNEXPLAINED : `Redis refuses to work: ${advice}`,
    );
  }

  /** A command of the kind that is watched has been carried out: one that writes for inference, a look at the readiness for the API. */
  worked(): void {
    if (this.#isRefusing) this.#log.info('Redis works again');
    this.#isRefusing = false;
    this.#failingSinceMs = undefined;
  }
}

/** What a Cluster's client says itself is only that no node would do, and of a name with several addresses there is no message at all. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map(String).join('; ');
  const node = 'lastNodeError' in error ? error.lastNodeError : undefined;
  return node instanceof Error ? `${error.message} ${node.message}` : error.message;
}
