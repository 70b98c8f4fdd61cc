import { setTimeout as delay } from 'node:timers/promises';
import { type Job, Worker } from 'bullmq';
import type { UploadJob } from '../common/uploads/upload-jobs.ts';

const ASK_AGAIN_MS = 200;

/** BullMQ's worker asks a Redis that refuses again at once: hundreds of times a second, and for ever. */
export class UploadWorker extends Worker<UploadJob, void> {
  /** Hears of a job that has ended two processes, before the queue fails it: whoever would say so afterwards may be the third. */
  beforeGivenUp: (job: UploadJob, reason: string) => Promise<unknown> = async () => undefined;

  override async processJob(
    ...args: Parameters<Worker<UploadJob, void>['processJob']>
  ): Promise<void | Job<UploadJob, void>> {
    const [{ data, deferredFailure }] = args;
    if (deferredFailure) await this.beforeGivenUp(data, deferredFailure);
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

  /** The reader, which BullMQ has made itself, has none of the listeners of the connection that it was made from. A disconnect before it has a socket would be its end. */
  async reopenReader(): Promise<void> {
    const reader = await this.backend.blockingClient;
    if (reader?.status === 'connect' || reader?.status === 'ready') reader.disconnect(true);
  }

  /** Ends what a `close` that waits for a Redis that is away has not: the renewal of locks, and the reader, which would try to connect for ever. */
  async abandon(): Promise<void> {
    await this.lockManager.close();
    await this.backend.blockingConnection?.close(true);
  }
}
