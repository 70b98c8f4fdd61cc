import type { QueueOptions, WorkerOptions } from 'bullmq';
import type { SlotHolder } from '../slot/slot.ts';
import { fieldsOf, type StreamEntry } from '../store/result-streams.ts';
import type { Store } from '../store/store.ts';

/**
 * One upload's way through the store. The samples lie under their own binary key, and a small BullMQ job
 * names them. The end goes into a stream of its own, where the waiting replica reads it at once. Samples and
 * text are never in the job or in BullMQ's event stream, because both keep what they are given.
 */
export interface UploadJob {
  readonly id: string;
  readonly holder: SlotHolder;
  readonly fence: number;
}

/** The one entry of an upload's stream. */
export type UploadEnd =
  /** `inferenceMs`: duration of the inference call in milliseconds */
  { kind: 'done'; text: string; inferenceMs: number } | { kind: 'failed'; reason: string };

/**
 * How long a replica waits for an upload's end, counted from when its job is queued. That is enough for 15 s
 * of audio on a slow CPU, with a restart of the inference process in between.
 */
export const UPLOAD_DEADLINE_MS = 60_000;
const KEYS_TTL_MS = UPLOAD_DEADLINE_MS + 10_000;
export const UPLOAD_JOB_NAME = 'transcribe';

/**
 * A worker that dies is noticed after `lockDuration`. Its job runs once more, and a second crash on it fails
 * the job (`maxStalledCount`). A worker that is frozen may be told of a job in place of the others. They look
 * for themselves after `drainDelay` (s).
 */
export const UPLOAD_WORKER_OPTIONS = {
  concurrency: 1,
  drainDelay: 1,
  lockDuration: 1_000,
  stalledInterval: 500,
  maxStalledCount: 1,
  // BullMQ's check sends INFO, which a user with few permissions may not. Our own (common/redis/advice/warnings.ts)
  // goes on without an answer.
  skipVersionCheck: true,
  // BullMQ's wait for the first connection fails for good when that connection is made anew meanwhile, as in
  // a failover: no job would ever be taken.
  skipWaitingForReady: true,
} as const satisfies Partial<WorkerOptions>;

/** How long a job that failed is shown. BullMQ removes it later: when another one fails. */
export const FAILED_SHOWN_MS = 60_000;

/** Settings of the queue itself. Nobody looks at a job that was served: its end is elsewhere. */
export const UPLOAD_QUEUE_OPTIONS = {
  defaultJobOptions: { removeOnComplete: true, removeOnFail: { age: FAILED_SHOWN_MS / 1_000 } },
  streams: { events: { maxLen: 100 } },
} as const satisfies Partial<QueueOptions>;

/** The samples and the ends of uploads; the job between them is BullMQ's. */
export class UploadStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param pcm 16 kHz mono PCM16 bytes. @throws StoreUnavailable */
  async putSamples(id: string, pcm: Buffer): Promise<void> {
    await this.#store.ask((redis, keys) => redis.set(keys.upload(id), pcm, 'PX', KEYS_TTL_MS));
  }

  /**
   * @returns from one moment: the slot's value, the samples if they are there, who is in a model call.
   * @throws StoreUnavailable
   */
  async atStart(
    id: string,
  ): Promise<{ holder: SlotHolder | undefined; pcm: Buffer | undefined; caller: string | undefined }> {
    const [holder, pcm, caller] = await this.#store.ask((redis, keys) =>
      redis.mgetBuffer(keys.slot, keys.upload(id), keys.modelCall),
    );
    return { holder: holder?.toString('utf8'), pcm: pcm ?? undefined, caller: caller?.toString('utf8') };
  }

  /**
   * Says how an upload ended, and frees its slot.
   * @returns false when the slot was lost: then nobody waits.
   * @throws StoreUnavailable
   */
  async finish(id: string, holder: SlotHolder, end: UploadEnd): Promise<boolean> {
    const { keys } = this.#store;
    const fields = Object.entries(end).flatMap(([name, value]) => [name, String(value)]);
    const used = [keys.slot, keys.upload(id), keys.uploadEnd(id)];
    return (await this.#store.run('uploads/finish.lua', used, holder, KEYS_TTL_MS, ...fields)) === 1;
  }

  /** The stream that the end goes into. */
  endStream(id: string): string {
    return this.#store.keys.uploadEnd(id);
  }

  /** @returns undefined while there is none; without the slot, none will come. @throws StoreUnavailable */
  async end(id: string): Promise<UploadEnd | undefined> {
    const [entry] = await this.#store.ask((redis) => redis.xrange(this.endStream(id), '-', '+'));
    return entry && parseUploadEnd(entry);
  }

  /** Removes what an upload leaves behind. @throws StoreUnavailable */
  async forget(id: string): Promise<void> {
    await this.#store.ask((redis, keys) => redis.del(keys.upload(id), keys.uploadEnd(id)));
  }
}

/** An entry that cannot be read, such as one of another version of this program, is a failure. */
export function parseUploadEnd(entry: StreamEntry): UploadEnd {
  const fields = fieldsOf(entry);
  const kind = fields.get('kind');
  const text = fields.get('text');
  const inferenceMs = Number(fields.get('inferenceMs') ?? 'x');
  if (kind === 'done' && text !== undefined && Number.isFinite(inferenceMs))
    return { kind, text, inferenceMs };
  return { kind: 'failed', reason: fields.get('reason') ?? `an end of unknown form (kind "${kind}")` };
}
