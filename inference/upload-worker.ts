import { setTimeout as delay } from 'node:timers/promises';
import { type Job, Worker } from 'bullmq';
import type { UploadJob } from '../common/uploads/upload-jobs.ts';

const ASK_AGAIN_MS = 200;

/** BullMQ's worker asks a Redis that refuses again at once: hundreds of times a second, and for ever. */
export class UploadWorker extends Worker<UploadJob, void> {
  protected override async moveToActive(token: string, name?: string): Promise<Job<UploadJob, void>> {
    try {
      return await super.moveToActive(token, name);
    } catch (error) {
      await delay(ASK_AGAIN_MS);
      throw error;
    }
  }
}
