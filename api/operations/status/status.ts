import { Queue } from 'bullmq';
import type { StoreUnavailable } from '../../../common/errors/errors.ts';
import { ReadinessStore } from '../../../common/readiness/readiness.ts';
import { ReplicaStore } from '../../../common/readiness/replicas.ts';
import { reasonOf } from '../../../common/redis/advice/remedies.ts';
import { factsOf, type RedisFacts, warningsOf } from '../../../common/redis/advice/warnings.ts';
import type { RedisClient } from '../../../common/redis/client.ts';
import { Slot } from '../../../common/slot/slot.ts';
import type { RedisKeys } from '../../../common/store/keys.ts';
import { fromStore, type Store } from '../../../common/store/store.ts';
import { FAILED_SHOWN_MS, type UploadJob } from '../../../common/uploads/upload-jobs.ts';
import { type ServiceState, ServiceStateReader } from '../service-state.ts';

/** What the operator sees of the service at one moment. */
export interface Status extends ServiceState {
  /** Whether slot, recognizers and replicas could be read. If not, they are empty. */
  readonly isKnown: boolean;
  readonly queue: QueueCounts;
  readonly redis: RedisStatus;
  /** What Redis has refused, in its own words. */
  readonly refused: readonly string[];
}

/** The jobs of uploads. Of those that failed, only the ones of the last minute count. */
export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly failed: number;
  readonly activeIds: readonly string[];
  /** For how long the first one has waited; 0 if none waits. */
  readonly waitedMs: number;
}

export interface RedisStatus {
  /** Undefined if Redis does not say. */
  readonly version: string | undefined;
  readonly usedBytes: number | undefined;
  /** 0: as much as there is. */
  readonly maxBytes: number | undefined;
  /** Whether it writes to a disk. Undefined if it does not say. */
  readonly persists: boolean | undefined;
  /** What is wrong with this Redis, each with what to set. */
  readonly warnings: readonly string[];
}

export class StatusReader {
  readonly #redis: RedisClient;
  readonly #keys: RedisKeys;
  readonly #state: ServiceStateReader;
  readonly #queue: Queue<UploadJob>;

  constructor(store: Store) {
    const { redis, keys } = store;
    this.#redis = redis;
    this.#keys = keys;
    this.#state = new ServiceStateReader({
      ...{ store, slot: new Slot(store), readiness: new ReadinessStore(store) },
      replicas: new ReplicaStore(store),
    });
    this.#queue = new Queue(keys.queueName, {
      prefix: keys.prefix,
      connection: redis,
      // This reader only looks.
      skipVersionCheck: true,
      skipMetasUpdate: true,
      skipWaitingForReady: true,
    });
    // The connection has reported it already.
    this.#queue.on('error', () => undefined);
  }

  /** @throws StoreUnavailable */
  async read(): Promise<Status> {
    const refused: string[] = [];
    /** A part that Redis refuses must not hide the others. @throws StoreUnavailable if it does not answer */
    const orRefused = <T>(part: Promise<T>, otherwise: T): Promise<T> =>
      part.catch((error: unknown) => {
        const { cause } = error as StoreUnavailable;
        if (!(cause instanceof Error) || cause.name !== 'ReplyError') throw error;
        refused.push(reasonOf(cause));
        return otherwise;
      });
    const nothing = { slot: undefined, recognizers: [], replicas: [], memoryShare: undefined };
    const [state, queue, facts] = await Promise.all([
      orRefused<ServiceState>(this.#state.read(), nothing),
      orRefused(this.#counts(), { waiting: 0, active: 0, failed: 0, activeIds: [], waitedMs: 0 }),
      factsOf(this.#redis),
      // Nothing else here is written, and a full Redis refuses nothing else.
      orRefused(fromStore(this.#redis.set(this.#keys.replica('status'), '', 'PX', 1)), null),
    ]);
    const isKnown = state !== nothing;
    return { ...state, isKnown, queue, redis: redisStatus(facts), refused: [...new Set(refused)] };
  }

  /** @throws StoreUnavailable */
  async #counts(): Promise<QueueCounts> {
    const jobs = [this.#queue.getWaiting(), this.#queue.getActive(), this.#queue.getFailed()] as const;
    const [waiting, active, failed] = await fromStore(Promise.all(jobs));
    const nowMs = Date.now();
    return {
      waiting: waiting.length,
      active: active.length,
      failed: failed.filter(({ finishedOn = 0 }) => finishedOn > nowMs - FAILED_SHOWN_MS).length,
      activeIds: active.map(({ data }) => data.id),
      waitedMs: Math.max(0, ...waiting.map(({ timestamp }) => nowMs - timestamp)),
    };
  }
}

function redisStatus(facts: RedisFacts): RedisStatus {
  const { redis_version: version, used_memory: used, maxmemory: max } = facts.info;
  const { save, appendonly } = facts.settings;
  return {
    version,
    usedBytes: used === undefined ? undefined : Number(used),
    maxBytes: max === undefined ? undefined : Number(max),
    persists: save === undefined || appendonly === undefined ? undefined : save !== '' || appendonly !== 'no',
    warnings: warningsOf(facts),
  };
}
