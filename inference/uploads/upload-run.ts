import { setTimeout as delay } from 'node:timers/promises';
import { audioMs } from '../../common/audio/limits.ts';
import { SLOT_TTL_MS } from '../../common/slot/slot.ts';
import { retryUntilAnswered } from '../../common/store/retry.ts';
import {
  UPLOAD_DEADLINE_MS,
  type UploadEnd,
  type UploadJob,
  type UploadStore,
} from '../../common/uploads/upload-jobs.ts';
import type { ExclusiveRun } from '../model/exclusive-run.ts';
import type { FenceGuard } from '../model/fence.ts';
import type { ModelMetrics } from '../model/model-metrics.ts';

/** The longest time until the end of another process's model call is seen. */
const CALL_POLL_MS = 50;

export interface UploadRunParts {
  readonly uploads: UploadStore;
  readonly fences: FenceGuard;
  readonly model: ExclusiveRun;
  readonly metrics: ModelMetrics;
}

/** What there is of an upload when its turn has come. */
type UploadStart =
  | { readonly kind: 'samples'; readonly pcm: Buffer }
  | { readonly kind: 'samples gone' }
  /** The upload is over. */
  | { readonly kind: 'slot lost' };

/** How a job ended without failing. Somebody waits for it as long as it has its slot. */
export type JobOutcome = 'done' | 'slot lost' | 'superseded' | 'samples gone';

/**
 * One upload's job:
 *
 *   taken (polled while another process is in a model call)
 *          ├─ slot lost ───────────────────────────────────────────────────→ completed, nothing said
 *          ├─ fence too small, samples gone ──→ told, and slot freed ─────────→ completed
 *          └─ model call ─┬─ text ──→ told, and slot freed in the same step ──→ completed
 *                         └─ failed ─→ told, and slot freed in the same step ──→ failed
 */
export class UploadRun {
  readonly #parts: UploadRunParts;
  readonly #job: UploadJob;
  readonly #stopping: AbortSignal;

  /** @param stopping is aborted when the process is told to end */
  constructor(parts: UploadRunParts, job: UploadJob, stopping: AbortSignal) {
    this.#parts = parts;
    this.#job = job;
    this.#stopping = stopping;
  }

  /**
   * @param again the job was given out before.
   * @throws Error when the model has failed, which has been told by then, or when its turn never came
   */
  async run(again: boolean): Promise<JobOutcome> {
    const start = await this.#start(again);
    if (start.kind === 'slot lost') return start.kind;
    if (!this.#parts.fences.admit(this.#job.fence)) return await this.#refuse('superseded');
    return start.kind === 'samples' ? await this.#transcribe(start.pcm) : await this.#refuse(start.kind);
  }

  /**
   * Tells the client that its recording has ended two processes. One of them may have served it after all: a
   * lock also runs out while Redis stands still.
   * @returns false when it is over
   */
  async giveUp(reason: string): Promise<boolean> {
    if ((await this.#start(true)).kind === 'slot lost') return false;
    return await this.#finish({ kind: 'failed', reason });
  }

  /**
   * Waits until no other process is in a model call. That call may be this job's own: if Redis stood still,
   * the lock of the running job has run out, and the job is given out again. The process that has it will
   * mostly still end it. A stop of this process waits, too: if it put the job back, there might be nobody
   * else to take it. The slot is left to that call, even if this throws.
   * @throws Error when nobody waits any more; StoreUnavailable
   */
  async #start(again: boolean): Promise<UploadStart> {
    const { uploads, model } = this.#parts;
    const untilMs = performance.now() + UPLOAD_DEADLINE_MS;
    // A Redis that goes on may answer before it sees another process's call. So the second poll counts.
    let mayBeInCall = again;
    for (;;) {
      const { holder, pcm, caller } = await this.#answered(() => uploads.atStart(this.#job.id));
      if (holder !== this.#job.holder) return { kind: 'slot lost' };
      const isInCall = model.isAnothers(caller);
      if (!isInCall && !mayBeInCall) return pcm ? { kind: 'samples', pcm } : { kind: 'samples gone' };
      if (isInCall && performance.now() >= untilMs)
        throw new Error(`${caller} was in model calls for as long as anybody waits for an upload`);
      mayBeInCall = isInCall;
      await delay(CALL_POLL_MS);
    }
  }

  async #transcribe(pcm: Buffer): Promise<JobOutcome> {
    let text: string;
    const startedAtMs = performance.now();
    try {
      text = await this.#recognize(pcm);
    } catch (error) {
      const reason = `inference_failed: ${error instanceof Error ? `${error.name}: ${error.message}` : error}`;
      await this.#finish({ kind: 'failed', reason }).catch(() => undefined);
      throw new Error(reason, { cause: error });
    }
    const inferenceMs = Math.round((performance.now() - startedAtMs) * 100) / 100;
    this.#parts.metrics.called('upload', inferenceMs, audioMs(pcm.length));
    return (await this.#finish({ kind: 'done', text, inferenceMs })) ? 'done' : 'slot lost';
  }

  async #recognize(pcm: Buffer): Promise<string> {
    const { model } = this.#parts;
    return await model.run(this.#job, async () => {
      const stream = await model.open();
      try {
        return await stream.finish(pcm);
      } finally {
        await stream.close();
      }
    });
  }

  async #refuse(outcome: 'superseded' | 'samples gone'): Promise<JobOutcome> {
    await this.#finish({ kind: 'failed', reason: outcome });
    return outcome;
  }

  /**
   * @returns false when the slot was lost.
   * @throws StoreUnavailable; then the replica that waits answers by itself
   */
  async #finish(end: UploadEnd): Promise<boolean> {
    const { id, holder } = this.#job;
    return await this.#answered(() => this.#parts.uploads.finish(id, holder, end));
  }

  /**
   * No replica waits longer than this for an upload that is queued by now. A process that is told to end waits
   * no longer than a slot lasts that nobody renews: else it was killed after 40 s.
   */
  #answered<T>(command: () => Promise<T>): Promise<T> {
    const startedAtMs = performance.now();
    const patienceMs = (): number => (this.#stopping.aborted ? SLOT_TTL_MS : UPLOAD_DEADLINE_MS);
    return retryUntilAnswered(() => startedAtMs + patienceMs(), command);
  }
}
