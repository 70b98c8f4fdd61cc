import { randomBytes } from 'node:crypto';
import { Queue, QueueEvents } from 'bullmq';
import { Redis } from 'ioredis';
import { Slot, slotHolder } from '../../../common/slot/slot.ts';
import { Store } from '../../../common/store/store.ts';
import {
  type UploadEnd as StoredEnd,
  UPLOAD_JOB_NAME,
  UPLOAD_QUEUE_OPTIONS,
  type UploadJob,
  UploadStore,
} from '../../../common/uploads/upload-jobs.ts';
import type { TestRedis } from '../redis/redis.ts';

export type UploadEnd =
  /** `end`: what was said about it */
  { kind: 'completed'; end: StoredEnd | undefined } | { kind: 'failed'; reason: string };

/** The API's side of uploads, for tests of the other side. */
export class TestUploads {
  readonly slot: Slot;
  readonly #redis: Redis;
  readonly store: UploadStore;
  readonly #queue: Queue<UploadJob>;
  readonly #events: QueueEvents;
  readonly #ended = new Map<string, (end: Promise<UploadEnd>) => void>();

  private constructor(server: TestRedis) {
    this.#redis = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    this.#redis.on('error', () => {});
    const store = new Store(this.#redis, '{asr}');
    const { keys } = store;
    this.slot = new Slot(store);
    this.store = new UploadStore(store);
    const options = { connection: this.#redis, prefix: keys.prefix };
    this.#queue = new Queue(keys.queueName, { ...options, ...UPLOAD_QUEUE_OPTIONS });
    this.#events = new QueueEvents(keys.queueName, options);
    this.#events.on('completed', ({ jobId }) => {
      this.#ended.get(jobId)?.(this.#take(jobId).then((end) => ({ kind: 'completed', end })));
    });
    this.#events.on('failed', ({ jobId, failedReason }) => {
      this.#ended.get(jobId)?.(this.#take(jobId).then(() => ({ kind: 'failed', reason: failedReason })));
    });
  }

  static async connect(server: TestRedis): Promise<TestUploads> {
    const uploads = new TestUploads(server);
    await Promise.all([uploads.#queue.waitUntilReady(), uploads.#events.waitUntilReady()]);
    return uploads;
  }

  /** Takes the slot, and hands the samples over. `ended` resolves with the job's end. */
  async submit(
    pcm: Buffer,
    changes: Partial<UploadJob> = {},
  ): Promise<{ job: UploadJob; ended: Promise<UploadEnd> }> {
    const id = randomBytes(16).toString('hex');
    const holder = slotHolder({ id, via: 'http', replica: 'test:1', since: new Date().toISOString() });
    const fence = await this.slot.acquire(holder);
    if (fence === undefined) throw new Error('the slot is taken');
    const job: UploadJob = { id, holder, fence, ...changes };
    const ended = new Promise<UploadEnd>((resolve) => {
      this.#ended.set(id, resolve);
    });
    await this.store.putSamples(id, pcm);
    await this.#queue.add(UPLOAD_JOB_NAME, job, { jobId: id });
    return { job, ended };
  }

  async #take(id: string): Promise<StoredEnd | undefined> {
    const end = await this.store.end(id);
    await this.store.forget(id);
    return end;
  }

  async close(): Promise<void> {
    await Promise.all([this.#queue.close(), this.#events.close()]);
    this.#redis.disconnect();
  }
}
