import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Worker } from 'bullmq';
import { StoreUnavailable } from '../common/errors.ts';
import type { Logger } from '../common/log.ts';
import type { RedisClient } from '../common/lua.ts';
import type { RedisKeys } from '../common/redis-keys.ts';
import type { Slot, SlotHolder } from '../common/slot/slot.ts';
import {
  INFERENCE_FAILED,
  UPLOAD_WORKER_OPTIONS,
  type UploadJob,
  type UploadStore,
} from '../common/uploads/upload-jobs.ts';
import type { FenceGuard } from './fence-guard.ts';
import type { ModelCalls } from './model-calls.ts';

const RETRY_MS = 200;
/** After the last job BullMQ waits for nothing but Redis, and for ever when that is away. */
const CLOSE_MS = 1_000;

export interface JobWorkerParts {
  /** A connection for BullMQ alone. */
  readonly connection: RedisClient;
  readonly keys: RedisKeys;
  readonly slot: Slot;
  readonly uploads: UploadStore;
  readonly fences: FenceGuard;
  readonly model: ModelCalls;
  readonly log: Logger;
}

/** How a job ended without failing. Only `done` leaves a result: nobody waits for the others any more. */
type UploadOutcome = 'done' | 'too late' | 'slot lost' | 'superseded' | 'samples gone';

/**
 * Serves the uploads' queue, one job at a time:
 *
 *   taken ─┬─ deadline over, slot lost, fence too small or samples gone ──→ ended without a result
 *          └─ model call ─┬─ text ──→ result left and slot freed in one step ──→ completed
 *                         └─ failed ─→ samples deleted, slot freed ────────────→ failed, INFERENCE_FAILED
 *
 * A process that dies leaves its job to BullMQ, which gives it to another one (or to the same, restarted) once.
 */
export class JobWorker {
  readonly #parts: JobWorkerParts;
  #worker: Worker<UploadJob, void> | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: JobWorkerParts) {
    this.#parts = parts;
  }

  /** Connects, and takes no job yet. */
  async prepare(): Promise<void> {
    // Loaded late: the model's thread has begun by then, and loads meanwhile.
    const { Worker } = await import('bullmq');
    const { connection, keys, log } = this.#parts;
    this.#worker = new Worker<UploadJob, void>(
      keys.queueName,
      (job) => {
        const running = this.#process(job);
        this.#running = running.catch(() => undefined);
        return running;
      },
      { ...UPLOAD_WORKER_OPTIONS, connection, prefix: keys.prefix, autorun: false, runRetryDelay: RETRY_MS },
    );
    this.#worker.on('error', (error) => {
      if (isOutage(error)) log.debug({ err: error }, 'upload queue: Redis is away');
      else log.warn({ err: error }, 'upload queue');
    });
    this.#worker.on('failed', (job, error) => {
      log.error({ uploadId: job?.id, outcome: 'failed', reason: error.message }, 'upload');
    });
  }

  /** Takes jobs from now on. */
  start(): void {
    this.#worker?.run().catch((error: unknown) => this.#parts.log.error({ err: error }, 'upload queue'));
  }

  /** Takes no new job. Resolves when the one being served has ended. */
  async stop(): Promise<void> {
    const closing = this.#worker?.close();
    await this.#running;
    await Promise.race([closing, delay(CLOSE_MS, undefined, { ref: false })]);
  }

  async #process(job: Job<UploadJob, void>): Promise<void> {
    const startedAt = performance.now();
    const outcome = await this.#transcribe(job.data);
    const durationMs = Math.round(performance.now() - startedAt);
    this.#parts.log.info({ uploadId: job.data.id, outcome, durationMs }, 'upload');
  }

  async #transcribe({ id, holder, fence, deadlineMs }: UploadJob): Promise<UploadOutcome> {
    const { slot, uploads, fences } = this.#parts;
    if (Date.now() >= deadlineMs) return 'too late';
    if (!(await untilAnswered(deadlineMs, () => slot.holds(holder)))) return 'slot lost';
    if (!fences.admit(fence)) return 'superseded';
    const pcm = await untilAnswered(deadlineMs, () => uploads.samples(id));
    if (pcm === undefined) return 'samples gone';

    let text: string;
    const startedAt = performance.now();
    try {
      text = await this.#recognize(holder, pcm);
    } catch (error) {
      // Best effort: slot and samples have a TTL, and the one who waits for the job frees them too.
      await Promise.allSettled([slot.release(holder), uploads.forget(id)]);
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      throw new Error(`${INFERENCE_FAILED}${reason}`, { cause: error });
    }
    const inferenceMs = performance.now() - startedAt;
    const left = await untilAnswered(deadlineMs, () => uploads.finish(id, holder, { text, inferenceMs }));
    return left ? 'done' : 'slot lost';
  }

  async #recognize(holder: SlotHolder, pcm: Buffer): Promise<string> {
    const stream = await this.#parts.model.open();
    try {
      return await this.#parts.model.run(holder, async () => {
        await stream.accept(pcm);
        return stream.finish();
      });
    } finally {
      await stream.close();
    }
  }
}

/** What the queue reports of a connection, at every attempt; the outage itself is logged once, where the connections are made. */
function isOutage(error: Error): boolean {
  return 'syscall' in error || /^(Connection is closed|Socket timeout|Command timed out)/.test(error.message);
}

/** An outage of Redis that ends before the job's deadline costs the upload nothing but time. @throws StoreUnavailable at the deadline */
async function untilAnswered<T>(deadlineMs: number, command: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await command();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || Date.now() >= deadlineMs) throw error;
      await delay(RETRY_MS);
    }
  }
}
