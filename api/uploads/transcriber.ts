import type { Queue } from 'bullmq';
import { audioMs } from '../../common/audio/limits.ts';
import { refused, ServiceFailure, StoreUnavailable, unreachable } from '../../common/errors/errors.ts';
import type { Logger } from '../../common/process/log.ts';
import { SLOT_TTL_MS, type Slot, type SlotHolder } from '../../common/slot/slot.ts';
import { retryUntilAnswered } from '../../common/store/retry.ts';
import { fromStore } from '../../common/store/store.ts';
import { tenths } from '../../common/time/tenths.ts';
import { UPLOAD_JOB_NAME, type UploadJob, type UploadStore } from '../../common/uploads/upload-jobs.ts';
import type { Admission } from '../slot/admission.ts';
import type { BackgroundWork } from '../slot/background-work.ts';
import type { ResultFeed } from '../slot/result-feed.ts';
import { UploadWait, type WaitOutcome } from './upload-wait.ts';

interface TranscriberParts {
  readonly admission: Admission;
  readonly slot: Slot;
  readonly uploads: UploadStore;
  readonly queue: Queue<UploadJob>;
  readonly feed: ResultFeed;
  readonly background: BackgroundWork;
  readonly log: Logger;
  /** How long an upload waits for its end. */
  readonly deadlineMs: number;
}

/** A recognized upload; durations in milliseconds. */
export interface Transcription {
  readonly text: string;
  readonly audioMs: number;
  readonly inferenceMs: number;
  /** From the request for the slot to the result, less the inference call. */
  readonly queueMs: number;
}

/**
 * One upload: slot → samples → job → result.
 *
 *   acquire ── taken ──────────────────────────────→ busy
 *      │ held
 *   samples, job ── store away ────────────────────→ not_ready         (slot: released, or runs out)
 *      │ renewed every second
 *   wait ── done: text there, slot free ───────────→ 200
 *      ├─── failed (model, or second crash) ───────→ inference_failed  (slot: free)
 *      ├─── vanished: Redis lost it ───────────────→ not_ready
 *      ├─── abandoned: no process is left ─────────→ not_ready         (slot: released)
 *      ├─── late: no process is on it ─────────────→ not_ready         (slot: released)
 *      └─── late: the model still runs ────────────→ inference_failed  (slot: renewed until the call ends)
 */
export class Transcriber {
  readonly #parts: TranscriberParts;

  constructor(parts: TranscriberParts) {
    this.#parts = parts;
  }

  /**
   * @param id the request's, under which the slot, the job and the logs name the upload
   * @param pcm 16 kHz mono PCM16 bytes, checked by the caller
   * @throws ServiceFailure `busy`, `inference_failed` or `not_ready`; StoreUnavailable
   */
  transcribe(id: string, pcm: Buffer): Promise<Transcription> {
    const work = this.#transcribe(id, pcm);
    this.#parts.background.add(work);
    return work;
  }

  async #transcribe(id: string, pcm: Buffer): Promise<Transcription> {
    const { admission, uploads, queue, background } = this.#parts;
    const startedAtMs = performance.now();
    const job: UploadJob = await admission.admit(id, 'http');
    let outcome: WaitOutcome | undefined;
    try {
      // On one connection, so the samples are there before the job is.
      await Promise.all([
        uploads.putSamples(id, pcm),
        fromStore(queue.add(UPLOAD_JOB_NAME, job, { jobId: id })),
      ]);
      outcome = await this.#outcome(job);
      const { text, inferenceMs } = await this.#resultOf(id, outcome);
      background.run({ requestId: id }, () => uploads.forget(id));
      const queueMs = Math.max(0, tenths(performance.now() - startedAtMs - inferenceMs));
      return { text, audioMs: audioMs(pcm.length), inferenceMs, queueMs };
    } catch (error) {
      // A job that failed has freed the slot, and stays in the queue for an operator to see.
      const isOver = outcome?.kind === 'failed';
      background.run({ requestId: id }, () => (isOver ? uploads.forget(id) : this.#giveUp(id, job.holder)));
      throw error;
    }
  }

  async #outcome(job: UploadJob): Promise<WaitOutcome> {
    const { admission, uploads, feed, deadlineMs } = this.#parts;
    const wait = new UploadWait(feed, uploads, job.id, deadlineMs);
    const stopKeeping = admission.keep(job.holder, wait);
    return await wait.outcome.finally(stopKeeping);
  }

  async #resultOf(id: string, outcome: WaitOutcome): Promise<Extract<WaitOutcome, { kind: 'done' }>> {
    const { log, deadlineMs } = this.#parts;
    switch (outcome.kind) {
      case 'done':
        return outcome;
      case 'failed':
        log.error({ requestId: id, reason: outcome.reason }, 'upload job failed');
        throw refused('model failed');
      case 'abandoned':
        log.error({ requestId: id }, 'no inference process is left for the recording');
        throw refused('recognition gone');
      case 'late':
        if (await this.#dequeue(id)) {
          const msg = `no inference process is working on the recording after ${deadlineMs / 1000} s`;
          log.error({ requestId: id }, msg);
          throw new ServiceFailure('not_ready', `${msg}; try again later`);
        }
        throw new ServiceFailure('inference_failed', `no result within ${deadlineMs / 1000} s`);
      case 'vanished':
        throw new StoreUnavailable('the recording was lost in an outage of Redis');
      default:
        return unreachable(outcome);
    }
  }

  /** If a worker is on the job right now, the slot ends with that worker's model call. */
  async #giveUp(id: string, holder: SlotHolder): Promise<void> {
    const { slot, uploads } = this.#parts;
    // Trying longer is of no use: the slot has run out by then.
    const deadlineMs = performance.now() + SLOT_TTL_MS;
    if (await retryUntilAnswered(deadlineMs, () => this.#dequeue(id)))
      await retryUntilAnswered(deadlineMs, () => slot.release(holder));
    await retryUntilAnswered(deadlineMs, () => uploads.forget(id));
  }

  /** @returns false when a worker is on the job right now. @throws StoreUnavailable */
  async #dequeue(id: string): Promise<boolean> {
    return (await fromStore(this.#parts.queue.remove(id))) === 1;
  }
}
