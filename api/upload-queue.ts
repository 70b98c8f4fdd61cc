import type { Queue, QueueEvents } from 'bullmq';
import { fromStore } from '../common/redis.ts';
import { UPLOAD_JOB_NAME, type UploadJob } from '../common/uploads/upload-jobs.ts';

/** How a job ended. `unknown`: its end was not heard of in time. `vanished`: Redis lost it, or was away for longer than the slot lasts. */
export type JobEnd =
  | { kind: 'completed' }
  | { kind: 'failed'; reason: string }
  | { kind: 'unknown' }
  | { kind: 'vanished' };

/**
 * The API's side of the BullMQ queue: adds jobs and hears of their ends. BullMQ's own `waitUntilFinished` rejects outside of any promise when
 * Redis goes away during the wait, so the ends are taken from the queue's events, and looked up once when an event may have been missed.
 */
export class UploadQueue {
  readonly #queue: Queue<UploadJob>;
  readonly #waiting = new Map<string, (end: JobEnd) => void>();

  constructor(queue: Queue<UploadJob>, events: QueueEvents) {
    this.#queue = queue;
    events.on('completed', ({ jobId }) => this.#settle(jobId, { kind: 'completed' }));
    events.on('failed', ({ jobId, failedReason }) =>
      this.#settle(jobId, { kind: 'failed', reason: failedReason }),
    );
  }

  /** Waits for the end of a job that is not yet added (subscribe before you announce), at most until its deadline. */
  ended(job: UploadJob): Promise<JobEnd> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(job.id, { kind: 'unknown' }), job.deadlineMs - Date.now());
      this.#waiting.set(job.id, (end) => {
        clearTimeout(timer);
        resolve(end);
      });
    });
  }

  /** @throws StoreUnavailable; the job may have been added all the same: its deadline and the slot decide whether it still runs. */
  async add(job: UploadJob): Promise<void> {
    try {
      await fromStore(this.#queue.add(UPLOAD_JOB_NAME, job, { jobId: job.id }));
    } catch (error) {
      this.#settle(job.id, { kind: 'unknown' });
      throw error;
    }
  }

  /** Looks an awaited job up, in case its event was lost with a connection. @throws StoreUnavailable */
  async lookUp(id: string): Promise<void> {
    const job = await fromStore(this.#queue.getJob(id));
    if (job === undefined) return this.vanished(id);
    if (job.finishedOn === undefined) return;
    this.#settle(id, job.failedReason ? { kind: 'failed', reason: job.failedReason } : { kind: 'completed' });
  }

  /** Ends the wait for a job whose result is there. */
  completed(id: string): void {
    this.#settle(id, { kind: 'completed' });
  }

  /** Ends the wait for a job that cannot end by itself any more. */
  vanished(id: string): void {
    this.#settle(id, { kind: 'vanished' });
  }

  /** Takes the job out of the queue. @returns false when a worker is on it right now. @throws StoreUnavailable */
  async remove(id: string): Promise<boolean> {
    const job = await fromStore(this.#queue.getJob(id));
    if (job === undefined) return true;
    return job.remove().then(
      () => true,
      () => false,
    );
  }

  #settle(id: string, end: JobEnd): void {
    this.#waiting.get(id)?.(end);
    this.#waiting.delete(id);
  }
}
