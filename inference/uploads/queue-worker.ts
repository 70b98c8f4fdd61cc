import { setTimeout as delay } from 'node:timers/promises';
import {
  type BackendFactory,
  type Job,
  QueueKeys,
  RedisConnection,
  RedisQueueBackend,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import type { RedisClient } from '../../common/redis/client.ts';
import type { UploadJob } from '../../common/uploads/upload-jobs.ts';

const ASK_AGAIN_MS = 200;

/**
 * BullMQ's worker with a pause after each refusal. Its own asks a Redis that refuses again at once: hundreds
 * of times a second, and for ever.
 */
export class QueueWorker extends Worker<UploadJob, void> {
  /**
   * Called with a job that has ended two processes, before the queue fails it. Resolves with false if the job
   * is over already: then it is no failure.
   */
  beforeGivenUp: (job: UploadJob, reason: string) => Promise<boolean> = async () => true;

  /** @param reader a connection for nothing but the wait for jobs */
  constructor(
    queueName: string,
    processor: (job: Job<UploadJob, void>) => Promise<void>,
    options: WorkerOptions,
    reader: RedisClient,
  ) {
    super(queueName, processor, options, readingFrom(reader, new QueueKeys(options.prefix)));
  }

  override async processJob(
    ...args: Parameters<Worker<UploadJob, void>['processJob']>
  ): Promise<void | Job<UploadJob, void>> {
    const [job] = args;
    const { data, deferredFailure } = job;
    if (deferredFailure && !(await this.beforeGivenUp(data, deferredFailure))) job.deferredFailure = '';
    return await super.processJob(...args);
  }

  protected override async moveToActive(token: string, name?: string): Promise<Job<UploadJob, void>> {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      await delay(ASK_AGAIN_MS);
      throw error;
    }
  }

  /** Ends the renewal of locks. A `close` has not done so while it waits for a Redis that is away. */
  async abandon(): Promise<void> {
    await this.lockManager.close();
  }
}

/**
 * A backend with our own reader. BullMQ's would not connect again after a failover that ended it while it
 * connected. And if no node of a Cluster owns the queue just then, BullMQ would wait for ever.
 */
function readingFrom(reader: RedisClient, keys: QueueKeys): BackendFactory<RedisQueueBackend> {
  return (name, opts) => {
    const open = (client: WorkerOptions['connection'], blocking: boolean) =>
      new RedisConnection(client, {
        shared: true,
        blocking,
        skipVersionCheck: true,
        skipWaitingForReady: true,
      });
    return new RedisQueueBackend(
      open(opts.connection, false),
      name,
      keys.getKeys(name),
      (type) => keys.toKey(name, type),
      opts,
      open(reader, true),
    );
  };
}
