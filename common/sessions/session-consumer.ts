import { messageOf, StoreUnavailable, unreachable } from '../errors/errors.ts';
import type { RedisClient } from '../redis/client.ts';
import { refusedWith } from '../redis/connection.ts';
import { blockingRead } from '../redis/timeouts.ts';
import type { SlotHolder } from '../slot/slot.ts';
import type { RedisKeys } from '../store/keys.ts';
import { fromStore, type Store } from '../store/store.ts';
import {
  type AudioEntry,
  LEASE_TTL_MS,
  parseAudioEntry,
  parseResultEntry,
  type ResultEntry,
  resultFields,
  SESSION_KEYS_TTL_MS,
} from './entries.ts';
import { type ResumePoint, resumePoint } from './session-resume.ts';

/** What makes a process leave a session; it publishes nothing about it any more. */
export type Loss = 'lease-lost' | 'slot-lost';

type LastResult = Extract<ResultEntry, { kind: 'final' | 'failed' }>;
export type SessionEnd =
  | LastResult
  /** The client is gone or was refused. */
  | { kind: 'aborted' }
  /**
   * Redis refuses whatever is to be published. Trying again would only keep the slot. The client learns from
   * the lost slot that there is no result.
   */
  | { kind: 'store-refused'; message: string }
  /**
   * Redis went away, or another process is in a model call. Once Redis is back, or that call has returned,
   * the session is claimed and replayed.
   */
  | { kind: 'interrupted' }
  | { kind: Loss };

/**
 * The inference process's side of a stream session: its lease, its audio, its results. One instance a
 * session. Results go on behind those of earlier processes. Each publication also proves that lease and slot
 * are still the session's.
 */
export class SessionConsumer {
  readonly #store: Store;
  readonly sessionId: string;
  readonly holder: SlotHolder;
  readonly #token: string;
  #takenBytes = 0;
  #revision = 0;
  #text = '';
  #checkedAtMs = 0;

  /** @param token names the process in the session's lease */
  constructor(store: Store, sessionId: string, holder: SlotHolder, token: string) {
    this.#store = store;
    this.sessionId = sessionId;
    this.holder = holder;
    this.#token = token;
  }

  /** @returns whether this process has the session's lease now. @throws StoreUnavailable */
  async claim(): Promise<boolean> {
    const args = [this.holder, this.#token, LEASE_TTL_MS, SESSION_KEYS_TTL_MS];
    const { keys } = this.#store;
    const used = [...keys.ofSession(this.sessionId), keys.modelCall];
    const isClaimed = (await this.#store.run('sessions/claim.lua', used, ...args)) === 1;
    this.#checkedAtMs = performance.now();
    return isClaimed;
  }

  /** Does not say whether the lease is lost: `loss` does. @throws StoreUnavailable */
  async renewLease(): Promise<void> {
    const lease = this.#store.keys.lease(this.sessionId);
    await this.#store.run('slot/renew.lua', [lease], this.#token, LEASE_TTL_MS);
  }

  /** Goes on behind what earlier processes have published. @throws StoreUnavailable; MalformedEntry */
  async resume(): Promise<ResumePoint> {
    const entries = await this.#store.ask((redis, keys) =>
      redis.xrange(keys.results(this.sessionId), '-', '+'),
    );
    const point = resumePoint(entries.map(parseResultEntry));
    this.#takenBytes = point.takenBytes;
    this.#revision = point.revision;
    this.#text = point.text;
    return point;
  }

  /**
   * Audio after the entry `after` (`0` for all of it).
   * @param blocking a connection of its own  @param blockMs how long to wait for some; 0: only what is there
   * @throws StoreUnavailable at once while Redis is away; MalformedEntry
   */
  async audio(blocking: RedisClient, after: string, blockMs: number): Promise<AudioEntry[]> {
    const key = this.#store.keys.audio(this.sessionId);
    const read =
      blockMs === 0
        ? blocking.xreadBuffer('COUNT', 1_000, 'STREAMS', key, after)
        : blocking.xreadBuffer('COUNT', 1_000, 'BLOCK', blockMs, 'STREAMS', key, after);
    const reply = await fromStore(blockingRead(blocking, read));
    return (reply?.[0]?.[1] ?? []).map(parseAudioEntry);
  }

  /**
   * What the session has lost while nothing is published. Checks once in `ms`; a publication counts, too.
   * @throws StoreUnavailable
   */
  async loss(ms: number): Promise<Loss | undefined> {
    if (performance.now() - this.#checkedAtMs < ms) return undefined;
    this.#checkedAtMs = performance.now();
    const [owner, slot] = await this.#store.ask((redis, keys) =>
      redis.mget(keys.lease(this.sessionId), keys.slot),
    );
    if (owner !== this.#token) return 'lease-lost';
    return slot === this.holder ? undefined : 'slot-lost';
  }

  /** Publishes that so many bytes go into a model call. @throws StoreUnavailable */
  async taken(bytes: number): Promise<Loss | undefined> {
    if (bytes <= this.#takenBytes) return undefined;
    this.#takenBytes = bytes;
    return await this.#publish({ kind: 'progress', takenBytes: bytes });
  }

  /** Publishes the text of these bytes, if it is new. @throws StoreUnavailable */
  async partial(text: string, takenBytes: number): Promise<Loss | undefined> {
    if (text === this.#text) return undefined;
    this.#revision += 1;
    this.#text = text;
    return await this.#publish({ kind: 'partial', takenBytes, revision: this.#revision, text });
  }

  /** The result to finish with. */
  final(text: string, takenBytes: number): LastResult {
    return { kind: 'final', takenBytes, revision: this.#revision + 1, text };
  }

  /**
   * Publishes how it ended, deletes the audio and frees the slot in one step.
   * @returns how it really ended. @throws StoreUnavailable
   */
  async finish(end: SessionEnd): Promise<SessionEnd> {
    switch (end.kind) {
      case 'final':
      case 'failed':
        try {
          return (await this.#finish(end)) ? end : { kind: 'lease-lost' };
        } catch (error) {
          if (!isRefused(error)) throw error;
          return await this.finish({ kind: 'store-refused', message: messageOf(error) });
        }
      case 'store-refused':
      case 'aborted':
      case 'slot-lost':
        return (await this.#finish()) ? end : { kind: 'lease-lost' };
      case 'lease-lost':
      case 'interrupted':
        return end;
      default:
        return unreachable(end);
    }
  }

  /** @returns what was lost when nothing was published. @throws StoreUnavailable */
  async #publish(entry: Extract<ResultEntry, { kind: 'progress' | 'partial' }>): Promise<Loss | undefined> {
    this.#checkedAtMs = performance.now();
    const [slot, lease, , results] = this.#store.keys.ofSession(this.sessionId);
    const args = [this.holder, this.#token, SESSION_KEYS_TTL_MS, ...resultFields(entry)];
    const reply = await this.#store.run('sessions/publish.lua', [slot, lease, results], ...args);
    if (reply === 1) return undefined;
    return reply === 0 ? 'lease-lost' : 'slot-lost';
  }

  /**
   * @returns false when the lease was lost: then another process ends the session.
   * @throws StoreUnavailable
   */
  async #finish(last?: LastResult): Promise<boolean> {
    const keys = this.#store.keys.ofSession(this.sessionId);
    const args = [this.holder, this.#token, SESSION_KEYS_TTL_MS, ...(last ? resultFields(last) : [])];
    return (await this.#store.run('sessions/finish.lua', keys, ...args)) === 1;
  }
}

/**
 * Waits until a session is announced, at most `blockMs`.
 * @param blocking a connection of its own
 * @param after `0` for all that are kept, or what the call before returned
 * @returns the id of the last announcement seen. @throws StoreUnavailable at once while Redis is away
 */
export async function sessionAnnounced(
  blocking: RedisClient,
  keys: RedisKeys,
  after: string,
  blockMs: number,
): Promise<string> {
  const read = blocking.xread('BLOCK', blockMs, 'STREAMS', keys.sessions, after);
  const reply = await fromStore(blockingRead(blocking, read));
  return reply?.[0]?.[1].at(-1)?.[0] ?? after;
}

/** Whether Redis is there and refuses: it will give the same answer however often it is asked. */
export function isRefused(error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : undefined;
  return (
    cause instanceof Error && ['OOM', 'NOPERM', 'WRONGTYPE'].some((word) => refusedWith(word, cause.message))
  );
}
