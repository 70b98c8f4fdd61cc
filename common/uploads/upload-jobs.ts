import type { QueueOptions, WorkerOptions } from 'bullmq';
import { LuaScript, type RedisClient } from '../lua.ts';
import { fromStore } from '../redis.ts';
import type { RedisKeys } from '../redis-keys.ts';
import type { SlotHolder } from '../slot/slot.ts';

/**
 * One upload's way through the store: the samples under their own binary key, a small BullMQ job that names them, the result under its own key. Neither
 * samples nor text are ever in the job or in BullMQ's event stream, which keep what they are given.
 */
export interface UploadJob {
  readonly id: string;
  readonly holder: SlotHolder;
  readonly fence: number;
  /** Unix ms after which nobody waits for the result. */
  readonly deadlineMs: number;
}

export interface UploadResult {
  readonly text: string;
  /** Duration of the inference call in milliseconds. */
  readonly inferenceMs: number;
}

/** From the job's start to its result: 15 s of audio on a slow CPU, and a restart of the inference process in between. */
export const UPLOAD_DEADLINE_MS = 60_000;
const KEYS_TTL_MS = UPLOAD_DEADLINE_MS + 10_000;
export const UPLOAD_JOB_NAME = 'transcribe';
/** How the reason of a job begins that failed because a model run failed. */
export const INFERENCE_FAILED = 'inference_failed: ';

/**
 * A worker that dies is noticed after `lockDuration`; its job runs once more, and a second crash on it fails the job
 * (`maxStalledCount`).
 */
export const UPLOAD_WORKER_OPTIONS = {
  concurrency: 1,
  lockDuration: 1_000,
  stalledInterval: 500,
  maxStalledCount: 1,
} as const satisfies Partial<WorkerOptions>;

/**
 * Settings of the queue itself. Ended jobs are removed by whoever waited for them; the ages are for those whose waiter died. (Removing them at
 * once would take a result from under the waiter.)
 */
export const UPLOAD_QUEUE_OPTIONS = {
  defaultJobOptions: { removeOnComplete: { age: 10 }, removeOnFail: { age: 60 } },
  streams: { events: { maxLen: 100 } },
} as const satisfies Partial<QueueOptions>;

/** The samples and the result of uploads; the job between them is BullMQ's. */
export class UploadStore {
  readonly #redis: RedisClient;
  readonly #keys: RedisKeys;
  readonly #finish = new LuaScript('uploads/finish.lua', 3);

  constructor(redis: RedisClient, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** @param pcm 16 kHz mono PCM16 bytes. @throws StoreUnavailable */
  async putSamples(id: string, pcm: Buffer): Promise<void> {
    await fromStore(this.#redis.set(this.#keys.upload(id), pcm, 'PX', KEYS_TTL_MS));
  }

  /** @returns undefined when they are gone: nobody waits any more. @throws StoreUnavailable */
  async samples(id: string): Promise<Buffer | undefined> {
    return (await fromStore(this.#redis.getBuffer(this.#keys.upload(id)))) ?? undefined;
  }

  /** Leaves the result and frees the slot. @returns false when the slot was lost. @throws StoreUnavailable */
  async finish(id: string, holder: SlotHolder, result: UploadResult): Promise<boolean> {
    const keys = [this.#keys.slot, this.#keys.upload(id), this.#keys.uploadResult(id)];
    return (
      (await fromStore(
        this.#finish.run(this.#redis, keys, [holder, JSON.stringify(result), KEYS_TTL_MS]),
      )) === 1
    );
  }

  /** @throws StoreUnavailable */
  async hasResult(id: string): Promise<boolean> {
    return (await fromStore(this.#redis.exists(this.#keys.uploadResult(id)))) === 1;
  }

  /** Takes the result out of the store. @returns undefined when there is none. @throws StoreUnavailable */
  async takeResult(id: string): Promise<UploadResult | undefined> {
    const json = await fromStore(this.#redis.getdel(this.#keys.uploadResult(id)));
    if (json === null) return undefined;
    const { text, inferenceMs }: { text?: unknown; inferenceMs?: unknown } = JSON.parse(json);
    if (typeof text !== 'string' || typeof inferenceMs !== 'number')
      throw new TypeError(`upload ${id}: the stored result has another form`);
    return { text, inferenceMs };
  }

  /** Removes what an upload that failed left behind. @throws StoreUnavailable */
  async forget(id: string): Promise<void> {
    await fromStore(this.#redis.del(this.#keys.upload(id), this.#keys.uploadResult(id)));
  }
}
