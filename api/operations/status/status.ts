import { Queue } from 'bullmq';
import { ReadinessStore } from '../../../common/readiness/readiness.ts';
import { fromStore } from '../../../common/redis/connection.ts';
import type { RedisKeys } from '../../../common/redis/keys.ts';
import type { RedisClient } from '../../../common/redis/scripts.ts';
import { factsOf, type RedisFacts, warningsOf } from '../../../common/redis/warnings.ts';
import { Slot } from '../../../common/slot/slot.ts';
import { FAILED_SHOWN_MS, type UploadJob } from '../../../common/uploads/upload-jobs.ts';
import { type ServiceState, ServiceStateReader } from '../service-state.ts';

/** What the operator sees of the service at one moment. */
export interface Status extends ServiceState {
  readonly queue: QueueCounts;
  readonly redis: RedisStatus;
}

/** The jobs of uploads. Of those that failed, only the ones of the last minute count. */
export interface QueueCounts {
  readonly waiting: number;
  readonly active: number;
  readonly failed: number;
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
  readonly #slot: Slot;
  readonly #state: ServiceStateReader;
  readonly #queue: Queue<UploadJob>;

  constructor(redis: RedisClient, keys: RedisKeys) {
    this.#redis = redis;
    this.#slot = new Slot(redis, keys);
    const readiness = new ReadinessStore(redis, keys);
    this.#state = new ServiceStateReader({ redis, keys, slot: this.#slot, readiness });
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

  get slot(): Slot {
    return this.#slot;
  }

  /** @throws StoreUnavailable */
  async read(): Promise<Status> {
    const [state, queue, facts] = await Promise.all([
      this.#state.read(),
      this.#counts(),
      factsOf(this.#redis),
    ]);
    return { ...state, queue, redis: redisStatus(facts) };
  }

  /** @throws StoreUnavailable */
  async #counts(): Promise<QueueCounts> {
    const [{ wait: waiting = 0, active = 0 }, failed] = await Promise.all([
      fromStore(this.#queue.getJobCounts('wait', 'active')),
      fromStore(this.#queue.getFailed()),
    ]);
    const sinceMs = Date.now() - FAILED_SHOWN_MS;
    return { waiting, active, failed: failed.filter(({ finishedOn = 0 }) => finishedOn > sinceMs).length };
  }
}

function redisStatus(facts: RedisFacts): RedisStatus {
  const said = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(facts.info)?.[1];
  const bytes = (name: string): number | undefined => {
    const value = said(name);
    return value === undefined ? undefined : Number(value);
  };
  const { save, appendonly } = facts.settings;
  return {
    version: said('redis_version'),
    usedBytes: bytes('used_memory'),
    maxBytes: bytes('maxmemory'),
    persists: save === undefined || appendonly === undefined ? undefined : save !== '' || appendonly !== 'no',
    warnings: warningsOf(facts),
  };
}
