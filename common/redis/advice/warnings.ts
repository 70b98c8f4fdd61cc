import { messageOf } from '../../errors/errors.ts';
import type { Logger } from '../../process/log.ts';
import type { RedisClient } from '../client.ts';

/** Major and minor of the first version with XADD NOMKSTREAM, which ends a session's audio with the session. */
const NEEDED_VERSION = [6, 2] as const;
const SETTINGS = ['save', 'appendonly', 'repl-diskless-sync', 'repl-diskless-load'] as const;

/** Fields of INFO that are looked at; none where it is refused. */
export type RedisInfo = Readonly<
  Partial<
    Record<
      'role' | 'connected_slaves' | 'redis_version' | 'maxmemory_policy' | 'used_memory' | 'maxmemory',
      string
    >
  >
>;

/** What a Redis says of itself, as far as it and its user's rights allow. */
export interface RedisFacts {
  readonly info: RedisInfo;
  /** CONFIG GET's answers, without those that it does not give. */
  readonly settings: Readonly<Partial<Record<(typeof SETTINGS)[number], string>>>;
  /** Why a setting is not there. */
  readonly refusal?: string;
}

/** What a Redis should not be. Each check gives one line for the operator: what is wrong, and what to set. */
const CHECKS: readonly ((facts: RedisFacts) => string | undefined)[] = [
  /** Recordings must never reach a disk, and they pass through Redis. */
  ({ settings: { save, appendonly }, refusal = 'no answer' }) => {
    if (save === undefined || appendonly === undefined)
      return `cannot tell whether this Redis writes recordings to disk (CONFIG GET: ${refusal}); make sure that it has save "" and appendonly no`;
    if (save === '' && appendonly === 'no') return undefined;
    return `this Redis may write recordings to disk (save "${save}", appendonly ${appendonly}); start it with: --save "" --appendonly no`;
  },
  /**
   * Unless told otherwise, a replica that gets the whole data set writes it to its disk first. Before Redis 7
   * its master does so too.
   */
  ({ info, settings: { 'repl-diskless-sync': sync, 'repl-diskless-load': load } }) => {
    const hasReplicas = info.role === 'slave' || Number(info.connected_slaves ?? 0) > 0;
    if (!hasReplicas || sync === undefined || (sync === 'yes' && load === 'swapdb')) return undefined;
    return `this Redis has replicas, and one that joins may write recordings to disk (repl-diskless-sync ${sync}, repl-diskless-load ${load}); start all of them with: --repl-diskless-sync yes --repl-diskless-load swapdb`;
  },
  ({ info }) => {
    const [major = 0, minor = 0] = info.redis_version?.split('.').map(Number) ?? NEEDED_VERSION;
    if ((major - NEEDED_VERSION[0] || minor - NEEDED_VERSION[1]) >= 0) return undefined;
    return `this Redis is ${info.redis_version}: streams do not work with it; install ${NEEDED_VERSION.join('.')} or newer`;
  },
  ({ info: { maxmemory_policy: policy = 'noeviction' } }) => {
    if (policy === 'noeviction') return undefined;
    return `this Redis drops keys when its memory is full (maxmemory-policy ${policy}), recordings among them; set maxmemory-policy noeviction`;
  },
];

/** Looks at a process's Redis once it is there, and logs what it should not be. */
export function warnOfRedis(redis: RedisClient, log: Logger): void {
  redis.once('ready', () => {
    factsOf(redis).then((facts) => {
      for (const warning of warningsOf(facts)) log.warn(warning);
    });
  });
}

/** One line for each thing that a Redis should not be. */
export function warningsOf(facts: RedisFacts): string[] {
  return CHECKS.map((check) => check(facts)).filter((warning) => warning !== undefined);
}

/** Asks a Redis for what the checks look at. */
export async function factsOf(redis: RedisClient): Promise<RedisFacts> {
  const info = await readInfo(redis);
  const settings: Partial<Record<(typeof SETTINGS)[number], string>> = {};
  try {
    for (const name of SETTINGS) {
      // RESP2 answers `[name, value]`.
      const answer: unknown = await redis.config('GET', name);
      const value: unknown = Array.isArray(answer) ? answer[1] : undefined;
      if (typeof value === 'string') settings[name] = value;
    }
  } catch (error) {
    return { info, settings, refusal: messageOf(error) };
  }
  return { info, settings };
}

/** What a Redis says of itself, or nothing where its user may not ask. */
export async function readInfo(redis: RedisClient): Promise<RedisInfo> {
  const info = await redis.info().catch(() => '');
  return Object.fromEntries(info.split('\r\n').map((line) => line.split(':', 2)));
}
