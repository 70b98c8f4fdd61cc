import { CHUNK_BYTES } from '../common/audio/limits.ts';
import { StoreUnavailable, unreachable } from '../common/errors.ts';
import type { RedisClient } from '../common/lua.ts';
import { refusedWith } from '../common/redis.ts';
import type { ResultEntry } from '../common/sessions/entries.ts';
import type { Loss, SessionConsumer } from '../common/sessions/session-consumer.ts';
import type { Slot, SlotHolder } from '../common/slot/slot.ts';
import type { FenceGuard } from './fence-guard.ts';
import type { ModelCalls } from './model-calls.ts';
import type { RecognizerStream } from './recognizer.ts';
import { SessionAudio } from './session-audio.ts';
import type { SessionLease } from './session-lease.ts';
import { type ResumePoint, resumePoint } from './session-resume.ts';

/** A recording that ends the process each time it is tried must end some time. */
const MAX_CLAIMANTS = 3;
/** How long a read waits for audio, and the longest time between two looks whether the session still has the slot. */
const READ_BLOCK_MS = 500;

export interface SessionRunParts {
  readonly consumer: SessionConsumer;
  /** A connection of its own, for blocking reads. */
  readonly blocking: RedisClient;
  readonly slot: Slot;
  readonly fences: FenceGuard;
  readonly model: ModelCalls;
}

type LastResult = Extract<ResultEntry, { kind: 'final' | 'failed' }>;
export type SessionEnd =
  | LastResult
  /** The client is gone or was refused. */
  | { kind: 'aborted' }
  /** Redis takes nothing of what there is to say: trying again would only keep the slot. The lost slot says to the client that there is no result. */
  | { kind: 'store-refused'; message: string }
  /** Redis went away; the session is claimed and replayed when it is back. */
  | { kind: 'interrupted' }
  | { kind: Loss };

/**
 * One claimed session, from its first frame (again) to its end:
 *
 *   claimed ─┬─ a fourth process, or a fence that is too small ────────→ failed
 *            ↓
 *   listening ─┬─ audio for a model call is there ──→ calling ─┬─ text → (partial if it changed) → listening
 *      ↑  └────┤                                               └─ the model failed ─→ failed
 *      │       ├─ end, nothing was ever sent ──────────────────→ final, empty
 *      │       ├─ end ──→ calling, with the rest and its finish ─→ final
 *      │       ├─ abort ───────────────────────────────────────→ aborted
 *      │       └─ a gap in the audio ──────────────────────────→ failed
 *      └─ 500 ms without a call, and the slot still held
 *
 *   in listening and with each publication: the slot is another's → slot-lost; the lease is another's → lease-lost; Redis is away → interrupted;
 *   Redis refuses (full, no permission, a key of another type) → failed, or, where it refuses that too, store-refused
 *
 * Before a call (for the last one: at the same time) its bytes are published as taken, which is also the proof that lease and slot are still the session's. After a takeover everything
 * that was taken before goes into the model in one piece, and nothing is said about it except a text that is new.
 * Every end waits for a running model call and then, except after lease-lost and interrupted, frees slot and keys in one step.
 */
export class SessionRun {
  readonly #parts: SessionRunParts;
  readonly #holder: SlotHolder;
  readonly #lease: SessionLease;
  readonly #audio: SessionAudio;
  #stream: RecognizerStream | undefined;
  #takenBytes = 0;
  #revision = 0;
  #text = '';
  #slotSeenAtMs = performance.now();
  #modelMs = 0;
  #tailModelMs = 0;

  constructor(parts: SessionRunParts, holder: SlotHolder, lease: SessionLease) {
    this.#parts = parts;
    this.#holder = holder;
    this.#lease = lease;
    this.#audio = new SessionAudio(parts.consumer, parts.blocking, lease.sessionId);
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Duration of the model calls so far. */
  get modelMs(): number {
    return this.#modelMs;
  }

  /** Duration of those that began when the recording had ended: with what was left of it, and the silence behind it. */
  get tailModelMs(): number {
    return this.#tailModelMs;
  }

  /** @returns how it ended; all of it is said in the store by then. @throws StoreUnavailable when the end could not be said. */
  async run(): Promise<SessionEnd> {
    const end = await this.#untilEnd();
    const [said] = await Promise.all([this.#finish(end), this.#stream?.close()]);
    return said;
  }

  async #untilEnd(): Promise<SessionEnd> {
    const { consumer, fences } = this.#parts;
    try {
      const resume = resumePoint(await consumer.results(this.#lease.sessionId));
      if (resume.claimants > MAX_CLAIMANTS) {
        return failed(`the recording was given up after ${MAX_CLAIMANTS} processes that did not finish it`);
      }
      await this.#audio.read(0);
      if (this.#audio.fence !== undefined && !fences.admit(this.#audio.fence)) {
        return failed('the session began before one that was served already');
      }
      return await this.#listen(resume);
    } catch (error) {
      if (error instanceof StoreUnavailable && !isRefused(error)) return { kind: 'interrupted' };
      return failed(messageOf(error));
    }
  }

  async #listen(resume: ResumePoint): Promise<SessionEnd> {
    this.#revision = resume.revision;
    this.#text = resume.text;
    for (;;) {
      const target = Math.max(this.#takenBytes + CHUNK_BYTES, resume.takenBytes);
      const { aborted, ended, receivedBytes } = this.#audio;
      const due = aborted || ended || receivedBytes >= target;
      // Also with a call due: an abort that has come meanwhile saves it.
      await this.#audio.read(due ? 0 : READ_BLOCK_MS);
      if (this.#audio.aborted) return { kind: 'aborted' };
      if (this.#lease.lost) return { kind: 'lease-lost' };
      if (this.#audio.receivedBytes >= target) {
        const loss = await this.#recognize(target, resume);
        if (loss) return { kind: loss };
      } else if (this.#audio.ended) {
        return await this.#recognizeRest(resume);
      } else if (!(await this.#stillHeld())) {
        return { kind: 'slot-lost' };
      }
    }
  }

  async #recognize(target: number, resume: ResumePoint): Promise<Loss | undefined> {
    const pcm = this.#audio.take(target - this.#takenBytes);
    const loss = await this.#publishTaken(target, resume);
    if (loss) return loss;
    const text = await this.#call(async () => (await this.#opened()).accept(pcm));
    if (text === this.#text) return undefined;
    this.#revision += 1;
    this.#text = text;
    return await this.#publish({ kind: 'partial', takenBytes: target, revision: this.#revision, text });
  }

  async #recognizeRest(resume: ResumePoint): Promise<SessionEnd> {
    const total = this.#audio.receivedBytes;
    const revision = this.#revision + 1;
    if (total === 0) return { kind: 'final', takenBytes: 0, revision, text: '' };
    const pcm = this.#audio.take(total - this.#takenBytes);
    // Somebody waits for this call, so it does not wait for the publication; both have ended before anything is freed.
    const [published, called] = await Promise.allSettled([
      this.#publishTaken(total, resume),
      this.#call(async () => {
        const stream = await this.#opened();
        if (pcm.length > 0) await stream.accept(pcm);
        return stream.finish();
      }),
    ]);
    if (published.status === 'rejected') throw published.reason;
    if (published.value) return { kind: published.value };
    if (called.status === 'rejected') throw called.reason;
    return { kind: 'final', takenBytes: total, revision, text: called.value };
  }

  async #call(call: () => Promise<string>): Promise<string> {
    const { ended } = this.#audio;
    const startedAt = performance.now();
    const text = await this.#parts.model.run(this.#holder, call);
    const durationMs = performance.now() - startedAt;
    this.#modelMs += durationMs;
    if (ended) this.#tailModelMs += durationMs;
    return text;
  }

  async #opened(): Promise<RecognizerStream> {
    this.#stream ??= await this.#parts.model.open();
    return this.#stream;
  }

  async #publishTaken(takenBytes: number, resume: ResumePoint): Promise<Loss | undefined> {
    const isNew = takenBytes > Math.max(this.#takenBytes, resume.takenBytes);
    this.#takenBytes = takenBytes;
    return isNew ? await this.#publish({ kind: 'progress', takenBytes }) : undefined;
  }

  async #publish(entry: Extract<ResultEntry, { kind: 'progress' | 'partial' }>): Promise<Loss | undefined> {
    const { sessionId, token } = this.#lease;
    const loss = await this.#parts.consumer.publish(sessionId, this.#holder, token, entry);
    this.#slotSeenAtMs = performance.now();
    return loss;
  }

  async #stillHeld(): Promise<boolean> {
    if (performance.now() - this.#slotSeenAtMs < READ_BLOCK_MS) return true;
    this.#slotSeenAtMs = performance.now();
    return await this.#parts.slot.holds(this.#holder);
  }

  async #finish(end: SessionEnd): Promise<SessionEnd> {
    const { sessionId, token } = this.#lease;
    const { consumer } = this.#parts;
    switch (end.kind) {
      case 'final':
      case 'failed':
        try {
          return (await consumer.finish(sessionId, this.#holder, token, end)) ? end : { kind: 'lease-lost' };
        } catch (error) {
          if (!isRefused(error)) throw error;
          return await this.#finish({ kind: 'store-refused', message: messageOf(error) });
        }
      case 'store-refused':
      case 'aborted':
      case 'slot-lost':
        return (await consumer.finish(sessionId, this.#holder, token)) ? end : { kind: 'lease-lost' };
      case 'lease-lost':
      case 'interrupted':
        return end;
      default:
        return unreachable(end);
    }
  }
}

/** Redis is there, and will give the same answer however often it is asked. */
function isRefused(error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : undefined;
  return (
    cause instanceof Error && ['OOM', 'NOPERM', 'WRONGTYPE'].some((word) => refusedWith(word, cause.message))
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function failed(message: string): LastResult {
  return { kind: 'failed', message };
}
