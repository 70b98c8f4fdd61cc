import { randomBytes } from 'node:crypto';
import { audioMs } from '../common/audio/limits.ts';
import { ApiFailure, StoreUnavailable, unreachable } from '../common/errors.ts';
import type { Logger } from '../common/log.ts';
import type { TranscriptionResult } from '../common/messages/http.ts';
import { SLOT_TTL_MS, type Slot, type SlotHolder, slotHolder } from '../common/slot/slot.ts';
import { UPLOAD_DEADLINE_MS, type UploadJob, type UploadStore } from '../common/uploads/upload-jobs.ts';
import { keepSlot } from './slot-keeper.ts';
import type { JobEnd, UploadQueue } from './upload-queue.ts';

/**
 * One upload: slot → samples → job → result.
 *
 *   acquire ── taken ──────────────────────────────→ busy
 *      │ held, renewed every second
 *   samples, job ── store away ────────────────────→ not_ready         (slot: released, or runs out)
 *      │
 *   wait ── vanished: Redis lost it ───────────────→ not_ready
 *      ├─── completed: result there, slot free ────→ 200
 *      ├─── failed (model, or second crash) ───────→ inference_failed  (slot: released)
 *      └─── unknown: deadline ─────────────────────→ inference_failed  (slot: released, unless the model still runs: then its own
 *                                                                       renewals end with the call)
 */
export class Transcriber {
  readonly #slot: Slot;
  readonly #store: UploadStore;
  readonly #queue: UploadQueue;
  readonly #replica: string;
  readonly #log: Logger;

  constructor(parts: { slot: Slot; uploads: UploadStore; queue: UploadQueue; replica: string; log: Logger }) {
    this.#slot = parts.slot;
    this.#store = parts.uploads;
    this.#queue = parts.queue;
    this.#replica = parts.replica;
    this.#log = parts.log;
  }

  /**
   * @param pcm 16 kHz mono PCM16 bytes, checked by the caller
   * @throws ApiFailure `busy` or `inference_failed`; StoreUnavailable
   */
  async transcribe(pcm: Buffer): Promise<TranscriptionResult> {
    const id = randomBytes(16).toString('hex');
    const holder = slotHolder({ id, via: 'http', replica: this.#replica, since: new Date().toISOString() });
    const fence = await this.#slot.acquire(holder);
    if (fence === undefined)
      throw new ApiFailure('busy', 'another recognition task is active; try again shortly');
    let awaySinceMs: number | undefined;
    const stopKeeping = keepSlot(this.#slot, holder, (loss) => {
      if (loss === 'lost') {
        this.#slotGone(id).catch(() => undefined);
        return;
      }
      awaySinceMs ??= performance.now();
      if (performance.now() - awaySinceMs > SLOT_TTL_MS) this.#queue.vanished(id);
    });
    const job: UploadJob = { id, holder, fence, deadlineMs: Date.now() + UPLOAD_DEADLINE_MS };
    const ended = this.#queue.ended(job);
    try {
      await this.#store.putSamples(id, pcm);
      await this.#queue.add(job);
      const result = await this.#resultOf(job, await ended);
      this.#inBackground(id, this.#queue.remove(id));
      return { text: result.text, audio_ms: audioMs(pcm.length), inference_ms: result.inferenceMs };
    } catch (error) {
      stopKeeping();
      this.#inBackground(id, this.#giveUp(id, holder));
      throw error;
    } finally {
      stopKeeping();
    }
  }

  /**
   * The result frees the slot too, so it may be there: the end of its job is heard of later when the job's worker had lost its lock, and never when the
   * event was lost with a connection.
   */
  async #slotGone(id: string): Promise<void> {
    if (await this.#store.hasResult(id)) this.#queue.completed(id);
    else await this.#queue.lookUp(id);
  }

  async #resultOf(job: UploadJob, end: JobEnd) {
    switch (end.kind) {
      case 'completed': {
        const result = await this.#store.takeResult(job.id);
        if (result === undefined)
          throw new ApiFailure(
            'inference_failed',
            'the result was lost: the recording took longer than its slot',
          );
        return result;
      }
      case 'failed':
        this.#log.error({ jobId: job.id, reason: end.reason }, 'upload job failed');
        throw new ApiFailure('inference_failed', 'the model failed on this recording');
      case 'unknown':
        throw new ApiFailure('inference_failed', `no result within ${UPLOAD_DEADLINE_MS / 1000} s`);
      case 'vanished':
        throw new StoreUnavailable('the recording was lost in an outage of Redis');
      default:
        return unreachable(end);
    }
  }

  /** The slot of a job that a worker is on right now ends with that worker's model call. */
  async #giveUp(id: string, holder: SlotHolder): Promise<void> {
    if (await this.#queue.remove(id)) await this.#slot.release(holder);
    await this.#store.forget(id);
  }

  /** Cleaning that the client need not wait for; everything it would remove has a TTL too. */
  #inBackground(id: string, cleaning: Promise<unknown>): void {
    cleaning.catch((error) => this.#log.warn({ jobId: id, err: error }, 'cleaning up an upload failed'));
  }
}
