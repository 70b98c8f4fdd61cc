import { audioMs } from '../../common/audio/limits.ts';
import { messageOf, StoreUnavailable } from '../../common/errors/errors.ts';
import type { RedisClient } from '../../common/redis/client.ts';
import {
  isRefused,
  type Loss,
  type SessionConsumer,
  type SessionEnd,
} from '../../common/sessions/session-consumer.ts';
import type { Slot } from '../../common/slot/slot.ts';
import type { ExclusiveRun } from '../model/exclusive-run.ts';
import type { FenceGuard } from '../model/fence.ts';
import type { ModelMetrics } from '../model/model-metrics.ts';
import type { RecognizerStream } from '../recognizer.ts';
import { SessionAudio } from './session-audio.ts';
import { type UpdatePacing, updatePacing } from './update-pacing.ts';

/** A recording that ends the process each time it is tried must end some time. */
const MAX_CLAIMANTS = 3;
/** How long a read waits for audio, and the longest time between two checks of lease and slot. */
const READ_BLOCK_MS = 500;

export interface SessionRunParts {
  /** A connection of its own, for blocking reads. */
  readonly blocking: RedisClient;
  readonly slot: Slot;
  readonly fences: FenceGuard;
  readonly model: ExclusiveRun;
  readonly metrics: ModelMetrics;
}

/**
 * One claimed session, from its first frame (again) to its end:
 *
 *   claimed ─┬─ a fourth process, or a fence that is too small ────────→ failed
 *            ├─ another process is in a model call ────────────────────→ interrupted
 *            ↓
 *   listening ─┬─ an update is due ──→ calling ─┬─ text → (partial if it changed) → listening
 *      ↑  └────┤                                └─ the model failed ─→ failed
 *      │       ├─ end, nothing was ever sent ──────────────────→ final, empty
 *      │       ├─ end ──→ calling, with the rest and its finish ─→ final
 *      │       ├─ abort ───────────────────────────────────────→ aborted
 *      │       └─ a gap in the audio ──────────────────────────→ failed
 *      └─ 500 ms without a call, and the slot still held
 *
 *   in listening and with each publication:
 *     the slot is another's → slot-lost; the lease is another's → lease-lost; Redis is away → interrupted
 *     Redis refuses (full, no permission, a key of another type) → failed (refused, too: store-refused)
 *
 * Before a call (for the last one: at the same time) its bytes are published as taken. That also proves that
 * lease and slot are still the session's. After a takeover everything that was taken before goes into the
 * model in one piece. Only a text that is new is published. Every end waits for a running model call. Then it
 * frees slot and keys in one step, except after lease-lost and interrupted.
 */
export class SessionRun {
  readonly #parts: SessionRunParts;
  readonly #session: SessionConsumer;
  readonly #audio: SessionAudio;
  readonly #pacing: UpdatePacing;
  #stream: RecognizerStream | undefined;
  #takenBytes = 0;
  #modelMs = 0;
  #tailModelMs = 0;

  /** @param isReDecoding of the model, which says how its updates follow one another */
  constructor(parts: SessionRunParts, isReDecoding: boolean, session: SessionConsumer) {
    this.#parts = parts;
    this.#pacing = updatePacing(isReDecoding, READ_BLOCK_MS);
    this.#session = session;
    this.#audio = new SessionAudio(session, parts.blocking);
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Duration of the model calls so far. */
  get modelMs(): number {
    return this.#modelMs;
  }

  /** Duration of the calls that began when the recording had ended: its rest, and the trailing padding. */
  get tailModelMs(): number {
    return this.#tailModelMs;
  }

  /**
   * @returns how it ended; all of it has been published by then.
   * @throws StoreUnavailable if the end could not be published.
   */
  async run(): Promise<SessionEnd> {
    const end = await this.#untilEnd();
    const [finished] = await Promise.all([this.#session.finish(end), this.#stream?.close()]);
    return finished;
  }

  async #untilEnd(): Promise<SessionEnd> {
    try {
      const before = await this.#session.resume();
      if (before.claimants > MAX_CLAIMANTS) {
        return failed(`the recording was given up after ${MAX_CLAIMANTS} processes that did not finish it`);
      }
      // If Redis stood still, it may have granted our claim before it saw another process's model call.
      const { slot, model } = this.#parts;
      if (before.claimants > 1 && model.isAnothers(await slot.caller())) return { kind: 'interrupted' };
      await this.#audio.read(0);
      if (this.#audio.fence !== undefined && !this.#parts.fences.admit(this.#audio.fence)) {
        return failed('the session began before one that was served already');
      }
      return await this.#listen(before.takenBytes);
    } catch (error) {
      if (error instanceof StoreUnavailable && !isRefused(error)) return { kind: 'interrupted' };
      return failed(messageOf(error));
    }
  }

  /** @param takenBeforeBytes what the processes before this one had taken */
  async #listen(takenBeforeBytes: number): Promise<SessionEnd> {
    for (;;) {
      // Read also when a call is due: an abort that has come meanwhile saves the call.
      await this.#audio.read(this.#isDue(takenBeforeBytes) ? 0 : this.#pacing.waitMs);
      if (this.#audio.aborted) return { kind: 'aborted' };
      // Before any call: if this process stood still, another one may have ended what it has read.
      const lost = await this.#session.loss(READ_BLOCK_MS);
      if (lost) return { kind: lost };
      const targetBytes = this.#targetBytes(takenBeforeBytes);
      if (targetBytes !== undefined) {
        const loss = await this.#recognize(targetBytes);
        if (loss) return { kind: loss };
      } else if (this.#audio.ended) {
        return await this.#recognizeRest();
      }
    }
  }

  #isDue(takenBeforeBytes: number): boolean {
    const { aborted, ended } = this.#audio;
    return aborted || ended || this.#targetBytes(takenBeforeBytes) !== undefined;
  }

  /** Up to where the next update goes; undefined where none is due. */
  #targetBytes(takenBeforeBytes: number): number | undefined {
    const next = this.#pacing.next(this.#takenBytes, this.#audio);
    if (next === undefined) return undefined;
    const target = Math.max(next, takenBeforeBytes);
    return this.#audio.receivedBytes >= target ? target : undefined;
  }

  async #recognize(targetBytes: number): Promise<Loss | undefined> {
    const pcm = this.#takeUpTo(targetBytes);
    const loss = await this.#session.taken(targetBytes);
    if (loss) return loss;
    const text = await this.#call('update', pcm, (stream) => stream.accept(pcm));
    return await this.#session.partial(text, targetBytes);
  }

  async #recognizeRest(): Promise<SessionEnd> {
    const totalBytes = this.#audio.receivedBytes;
    if (totalBytes === 0) return this.#session.final('', 0);
    const pcm = this.#takeUpTo(totalBytes);
    // Somebody waits for this call, so it runs beside the publication. Both end before anything is freed.
    const [published, called] = await Promise.allSettled([
      this.#session.taken(totalBytes),
      this.#call('final', pcm, (stream) => stream.finish(pcm)),
    ]);
    if (published.status === 'rejected') throw published.reason;
    if (published.value) return { kind: published.value };
    if (called.status === 'rejected') throw called.reason;
    return this.#session.final(called.value, totalBytes);
  }

  #takeUpTo(bytes: number): Buffer {
    const pcm = this.#audio.take(bytes - this.#takenBytes);
    this.#takenBytes = bytes;
    return pcm;
  }

  /** @param pcm what is new in this call */
  async #call(
    kind: 'update' | 'final',
    pcm: Buffer,
    call: (stream: RecognizerStream) => Promise<string>,
  ): Promise<string> {
    const { ended } = this.#audio;
    const { model, metrics } = this.#parts;
    const startedAtMs = performance.now();
    const work = { holder: this.#session.holder, fence: this.#audio.fence };
    const text = await model.run(work, async () => call(await this.#opened()));
    this.#pacing.updated(startedAtMs);
    const durationMs = performance.now() - startedAtMs;
    metrics.called(kind, durationMs, audioMs(pcm.length));
    this.#modelMs += durationMs;
    if (ended) this.#tailModelMs += durationMs;
    return text;
  }

  async #opened(): Promise<RecognizerStream> {
    this.#stream ??= await this.#parts.model.open();
    return this.#stream;
  }
}

function failed(message: string): SessionEnd {
  return { kind: 'failed', message };
}
