import type { Job } from 'bullmq';
import type { Logger } from '../../common/process/log.ts';
import { endedWithin } from '../../common/process/shutdown.ts';
import { inSpan } from '../../common/process/traces.ts';
import type { RedisClient } from '../../common/redis/client.ts';
import { closeRedis } from '../../common/redis/connection.ts';
import { readSlotHolder } from '../../common/slot/slot.ts';
import type { RedisKeys } from '../../common/store/keys.ts';
import { UPLOAD_WORKER_OPTIONS, type UploadJob } from '../../common/uploads/upload-jobs.ts';
import { QueueReports } from './queue-reports.ts';
import type { QueueWorker } from './queue-worker.ts';
import { UploadRun, type UploadRunParts } from './upload-run.ts';

const RETRY_MS = 200;
/** After the last job BullMQ waits for nothing but Redis. If Redis is away, it waits for ever. */
const CLOSE_MS = 1_000;

export interface UploadWorkerParts extends UploadRunParts {
  /** A connection for BullMQ alone. */
  readonly connection: RedisClient;
  /** Another one, on which BullMQ waits for jobs. `stop` closes it. */
  readonly reader: RedisClient;
  readonly keys: RedisKeys;
  readonly log: Logger;
}

/**
 * Serves the uploads' queue, one job at a time. If a process dies, BullMQ gives its job once to another one
 * (or to the same, restarted). If that one dies as well, the next one tells the client and fails the job.
 */
export class UploadWorker {
  readonly #parts: UploadWorkerParts;
  #worker: QueueWorker | undefined;
  readonly #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: UploadWorkerParts) {
    this.#parts = parts;
  }

  /** Connects, and takes no job yet. */
  async prepare(): Promise<void> {
    // Loaded late: the model's thread has begun by then, and loads meanwhile.
    const { QueueWorker } = await import('./queue-worker.ts');
    if (this.#stopping.signal.aborted) return;
    const { connection, reader, keys, log } = this.#parts;
    this.#worker = new QueueWorker(
      keys.queueName,
      (job) => {
        const running = this.#process(job);
        this.#running = running.catch(() => undefined);
        return running;
      },
      { ...UPLOAD_WORKER_OPTIONS, connection, prefix: keys.prefix, autorun: false, runRetryDelay: RETRY_MS },
      reader,
    );
    const reports = new QueueReports(connection, log);
    this.#worker.on('error', (error) => reports.report(error));
    this.#worker.on('failed', (job, error) => {
      log.error({ uploadId: job?.id, outcome: 'failed', reason: error.message }, 'upload');
    });
    this.#worker.beforeGivenUp = (job, reason) =>
      this.#runOf(job)
        .giveUp(reason)
        .catch(() => true);
  }

  /** Takes jobs from now on. */
  start(): void {
    this.#worker?.run().catch((error: unknown) => this.#parts.log.error({ err: error }, 'upload queue'));
  }

  /** Takes no new job. Resolves when the one being served has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#close();
    closeRedis(this.#parts.reader);
  }

  async #close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    // One that has never asked for a job has none on its way.
    const closing = worker.close(!worker.isRunning());
    await this.#running;
    await endedWithin(closing, CLOSE_MS);
    // A job that was on its way here when the worker was closed has begun meanwhile.
    await this.#running;
    await worker.abandon();
  }

  async #process(job: Job<UploadJob, void>): Promise<void> {
    const startedAtMs = performance.now();
    const recognize = () => this.#runOf(job.data).run(job.stalledCounter > 0);
    const outcome = await inSpan('recognition', recognize, readSlotHolder(job.data.holder)?.trace);
    const durationMs = Math.round(performance.now() - startedAtMs);
    this.#parts.log.info({ uploadId: job.data.id, outcome, durationMs }, 'upload');
  }

  #runOf(job: UploadJob): UploadRun {
    return new UploadRun(this.#parts, job, this.#stopping.signal);
  }
}
