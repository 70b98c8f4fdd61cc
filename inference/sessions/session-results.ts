import { messageOf, StoreUnavailable, unreachable } from '../../common/errors/errors.ts';
import { refusedWith } from '../../common/redis/connection.ts';
import type { ResultEntry } from '../../common/sessions/entries.ts';
import type { Loss, SessionConsumer } from '../../common/sessions/session-consumer.ts';
import type { SlotHolder } from '../../common/slot/slot.ts';
import { type ResumePoint, resumePoint } from './session-resume.ts';

type LastResult = Extract<ResultEntry, { kind: 'final' | 'failed' }>;
export type SessionEnd =
  | LastResult
  /** The client is gone or was refused. */
  | { kind: 'aborted' }
  /** Redis refuses whatever is to be published. Trying again would only keep the slot. The client learns from the lost slot that there is no result. */
  | { kind: 'store-refused'; message: string }
  /** Redis went away, or another process is in a model call. Once Redis is back, or that call has returned, the session is claimed and replayed. */
  | { kind: 'interrupted' }
  | { kind: Loss };

/** A session's lease, under the name of the process that has it. */
export interface Lease {
  readonly sessionId: string;
  readonly token: string;
}

/** Publishes the results of one claimed session, after those of earlier processes. Each publication also proves that lease and slot are still the session's. */
export class SessionResults {
  readonly #consumer: SessionConsumer;
  readonly #holder: SlotHolder;
  readonly #lease: Lease;
  #takenBytes = 0;
  #revision = 0;
  #text = '';
  #lookedAtMs = performance.now();

  constructor(consumer: SessionConsumer, holder: SlotHolder, lease: Lease) {
    this.#consumer = consumer;
    this.#holder = holder;
    this.#lease = lease;
  }

  /** Goes on behind what was said before. @throws StoreUnavailable */
  async resume(): Promise<ResumePoint> {
    const point = resumePoint(await this.#consumer.results(this.#lease.sessionId));
    this.#takenBytes = point.takenBytes;
    this.#revision = point.revision;
    this.#text = point.text;
    return point;
  }

  /** Publishes that so many bytes go into a model call. @throws StoreUnavailable */
  async taken(bytes: number): Promise<Loss | undefined> {
    if (bytes <= this.#takenBytes) return undefined;
    this.#takenBytes = bytes;
    return await this.#publish({ kind: 'progress', takenBytes: bytes });
  }

  /** Publishes what the model has heard in them, if that is new. @throws StoreUnavailable */
  async heard(text: string, takenBytes: number): Promise<Loss | undefined> {
    if (text === this.#text) return undefined;
    this.#revision += 1;
    this.#text = text;
    return await this.#publish({ kind: 'partial', takenBytes, revision: this.#revision, text });
  }

  /** What the session has lost while nothing is published. It looks only if the last look or publication is at least `ms` ago. @throws StoreUnavailable */
  async loss(ms: number): Promise<Loss | undefined> {
    if (performance.now() - this.#lookedAtMs < ms) return undefined;
    this.#lookedAtMs = performance.now();
    return await this.#consumer.loss(this.#lease.sessionId, this.#holder, this.#lease.token);
  }

  /** The result to finish with. */
  final(text: string, takenBytes: number): LastResult {
    return { kind: 'final', takenBytes, revision: this.#revision + 1, text };
  }

  /** Publishes how it ended, and frees slot and keys in the same step. @returns how it really ended. @throws StoreUnavailable */
  async finish(end: SessionEnd): Promise<SessionEnd> {
    const { sessionId, token } = this.#lease;
    switch (end.kind) {
      case 'final':
      case 'failed':
        try {
          const isSaid = await this.#consumer.finish(sessionId, this.#holder, token, end);
          return isSaid ? end : { kind: 'lease-lost' };
        } catch (error) {
          if (!isRefused(error)) throw error;
          return await this.finish({ kind: 'store-refused', message: messageOf(error) });
        }
      case 'store-refused':
      case 'aborted':
      case 'slot-lost':
        return (await this.#consumer.finish(sessionId, this.#holder, token)) ? end : { kind: 'lease-lost' };
      case 'lease-lost':
      case 'interrupted':
        return end;
      default:
        return unreachable(end);
    }
  }

  async #publish(entry: Extract<ResultEntry, { kind: 'progress' | 'partial' }>): Promise<Loss | undefined> {
    const { sessionId, token } = this.#lease;
    this.#lookedAtMs = performance.now();
    return await this.#consumer.publish(sessionId, this.#holder, token, entry);
  }
}

/** Whether Redis is there and refuses: it will give the same answer however often it is asked. */
export function isRefused(error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : undefined;
  return (
    cause instanceof Error && ['OOM', 'NOPERM', 'WRONGTYPE'].some((word) => refusedWith(word, cause.message))
  );
}
