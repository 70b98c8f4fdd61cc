import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from 'bullmq';
import type { Logger } from '../common/log.ts';
import type { RedisClient } from '../common/lua.ts';
import { closeRedis } from '../common/redis.ts';
import type { RedisKeys } from '../common/redis-keys.ts';
import { endedWithin } from '../common/shutdown.ts';
import type { SlotHolder } from '../common/slot/slot.ts';
import { untilAnswered } from '../common/until-answered.ts';
import {
  UPLOAD_DEADLINE_MS,
  UPLOAD_WORKER_OPTIONS,
  type UploadEnd,
  type UploadJob,
  type UploadStore,
} from '../common/uploads/upload-jobs.ts';
import type { FenceGuard } from './fence-guard.ts';
import { CALL_LOOK_MS, type ModelCalls } from './model-calls.ts';
import { QueueReports } from './queue-reports.ts';
import type { UploadWorker } from './upload-worker.ts';

const RETRY_MS = 200;
const STALLED_CHECKS_MS = 1_000;
/** After the last job BullMQ waits for nothing but Redis, and for ever when that is away. */
const CLOSE_MS = 1_000;

export interface JobWorkerParts {
  /** A connection for BullMQ alone. */
  readonly connection: RedisClient;
  /** Another one, on which BullMQ waits for jobs. `stop` closes it. */
  readonly reader: RedisClient;
  readonly keys: RedisKeys;
  readonly uploads: UploadStore;
  readonly fences: FenceGuard;
  readonly model: ModelCalls;
  readonly log: Logger;
}

/** How a job ended without failing. Somebody waits for it as long as it has its slot. */
type UploadOutcome = 'done' | 'slot lost' | 'superseded' | 'samples gone';

/**
 * Serves the uploads' queue, one job at a time:
 *
 *   taken (looked at again while another process is in a model call)
 *          ├─ slot lost ───────────────────────────────────────────────────→ completed, nothing said
 *          ├─ fence too small, samples gone ──→ told, and slot freed ─────────→ completed
 *          └─ model call ─┬─ text ──→ told, and slot freed in the same step ──→ completed
 *                         └─ failed ─→ told, and slot freed in the same step ──→ failed
 *
 * A process that dies leaves its job to BullMQ, which gives it to another one (or to the same, restarted) once; the next one
 * tells, and fails it.
 */
export class JobWorker {
  readonly #parts: JobWorkerParts;
  #worker: UploadWorker | undefined;
  #isStopped = false;
  #stalledChecks: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(parts: JobWorkerParts) {
    this.#parts = parts;
  }

  /** Connects, and takes no job yet. */
  async prepare(): Promise<void> {
    // Loaded late: the model's thread has begun by then, and loads meanwhile.
    const { UploadWorker } = await import('./upload-worker.ts');
    if (this.#isStopped) return;
    const { connection, reader, keys, log } = this.#parts;
    this.#worker = new UploadWorker(
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
    this.#worker.on('error', (error) => reports.heard(error));
    this.#worker.on('failed', (job, error) => {
      log.error({ uploadId: job?.id, outcome: 'failed', reason: error.message }, 'upload');
    });
    this.#worker.beforeGivenUp = (job, reason) => this.#giveUp(job, reason).catch(() => true);
  }

  /** Takes jobs from now on. */
  start(): void {
    this.#stalledChecks = setInterval(() => {
      this.#parts.uploads.keepStalledChecks().catch(() => undefined);
    }, STALLED_CHECKS_MS);
    this.#worker?.run().catch((error: unknown) => this.#parts.log.error({ err: error }, 'upload queue'));
  }

  /** Takes no new job. Resolves when the one being served has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#stalledChecks);
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
    // A job that Redis had given out when the worker was closed, and that was still on its way here, has begun meanwhile.
    await this.#running;
    await worker.abandon();
  }

  async #process(job: Job<UploadJob, void>): Promise<void> {
    const startedAtMs = performance.now();
    const outcome = await this.#transcribe(job.data, job.stalledCounter > 0);
    const durationMs = Math.round(performance.now() - startedAtMs);
    this.#parts.log.info({ uploadId: job.data.id, outcome, durationMs }, 'upload');
  }

  async #transcribe(job: UploadJob, again: boolean): Promise<UploadOutcome> {
    const { fences } = this.#parts;
    const { holder, fence } = job;
    const pcm = await this.#samples(job, again);
    if (pcm === 'slot lost') return 'slot lost';
    if (!fences.admit(fence)) return await this.#refuse(job, 'superseded');
    if (pcm === undefined) return await this.#refuse(job, 'samples gone');

    let text: string;
    const startedAtMs = performance.now();
    try {
      text = await this.#recognize(holder, pcm);
    } catch (error) {
      const reason = `inference_failed: ${error instanceof Error ? `${error.name}: ${error.message}` : error}`;
      await this.#finish(job, { kind: 'failed', reason }).catch(() => undefined);
      throw new Error(reason, { cause: error });
    }
    const inferenceMs = Math.round((performance.now() - startedAtMs) * 100) / 100;
    return (await this.#finish(job, { kind: 'done', text, inferenceMs })) ? 'done' : 'slot lost';
  }

  /**
   * Waits until no other process is in a model call. That call may be this job's own: a Redis that stood still has let the lock of the running job run out and
   * gives the job out again, while the process that has it will mostly still end it.
   * @param again the job was given out before
   * @returns the samples, undefined where they are gone; 'slot lost' where the upload is over
   */
  async #samples({ id, holder }: UploadJob, again: boolean): Promise<Buffer | undefined | 'slot lost'> {
    const { uploads, model } = this.#parts;
    // Redis, when it goes on, may answer this look before it hears from that process that it is in a call: only a second look counts.
    let mayBeInCall = again;
    for (;;) {
      const start = await untilAnswered(waitEnds(), () => uploads.atStart(id));
      if (start.holder !== holder) return 'slot lost';
      const isInCall = model.isAnothers(start.caller);
      if (!isInCall && !mayBeInCall) return start.pcm;
      mayBeInCall = isInCall;
      await delay(CALL_LOOK_MS);
    }
  }

  /** Tells the client that its recording has ended two processes; unless one of them has served it meanwhile, since a lock also runs out while Redis stands still. @returns false when it is over */
  async #giveUp(job: UploadJob, reason: string): Promise<boolean> {
    if ((await this.#samples(job, true)) === 'slot lost') return false;
    return await this.#finish(job, { kind: 'failed', reason });
  }

  async #refuse(job: UploadJob, outcome: UploadOutcome): Promise<UploadOutcome> {
    await this.#finish(job, { kind: 'failed', reason: outcome });
    return outcome;
  }

  /** @returns false when the slot was lost. @throws StoreUnavailable; then the replica that waits answers by itself */
  async #finish({ id, holder }: UploadJob, end: UploadEnd): Promise<boolean> {
    return await untilAnswered(waitEnds(), () => this.#parts.uploads.finish(id, holder, end));
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

/** By then, as of `performance.now()`, no replica waits any more for an upload that has been queued by now. */
function waitEnds(): number {
  return performance.now() + UPLOAD_DEADLINE_MS;
}
