import type { Queue } from 'bullmq';
import { fromStore } from '../../common/redis/connection.ts';
import { UPLOAD_JOB_NAME, type UploadJob } from '../../common/uploads/upload-jobs.ts';

/** The API's side of the BullMQ queue. How a job ended is not heard from there, but read from the upload's own stream: see UploadWait. */
export class UploadQueue {
  readonly #queue: Queue<UploadJob>;

  constructor(queue: Queue<UploadJob>) {
    this.#queue = queue;
  }

  /** @throws StoreUnavailable; the job may have been added all the same: the slot decides whether it still runs. */
  async add(job: UploadJob): Promise<void> {
    await fromStore(this.#queue.add(UPLOAD_JOB_NAME, job, { jobId: job.id }));
  }

  /** Takes the job out of the queue. @returns false when a worker is on it right now. @throws StoreUnavailable */
  async remove(id: string): Promise<boolean> {
    return (await fromStore(this.#queue.remove(id))) === 1;
  }
}
