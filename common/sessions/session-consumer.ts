import { fromStore } from '../redis/connection.ts';
import type { RedisKeys } from '../redis/keys.ts';
import { LuaScript, type RedisClient } from '../redis/scripts.ts';
import { blockingRead } from '../redis/timeouts.ts';
import type { SlotHolder } from '../slot/slot.ts';
import {
  type AudioEntry,
  LEASE_TTL_MS,
  parseAudioEntry,
  parseResultEntry,
  type ResultEntry,
  resultFields,
  SESSION_KEYS_TTL_MS,
} from './entries.ts';

/** What makes a process leave a session; it publishes nothing about it any more. */
export type Loss = 'lease-lost' | 'slot-lost';

/** The inference process's side of the stream sessions: announcements, leases, audio in, results out. */
export class SessionConsumer {
  readonly #redis: RedisClient;
  readonly #keys: RedisKeys;
  readonly #claim = new LuaScript('sessions/claim.lua');
  readonly #renew = new LuaScript('slot/renew.lua');
  readonly #publish = new LuaScript('sessions/publish.lua');
  readonly #finish = new LuaScript('sessions/finish.lua');

  constructor(redis: RedisClient, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Waits until a session is announced, at most `blockMs`.
   * @param blocking a connection of its own  @param after `0` for all that are kept, or what the call before returned
   * @returns the id of the last announcement seen. @throws StoreUnavailable at once while Redis is away
   */
  async announced(blocking: RedisClient, after: string, blockMs: number): Promise<string> {
    const read = blocking.xread('BLOCK', blockMs, 'STREAMS', this.#keys.sessions, after);
    const reply = await fromStore(blockingRead(blocking, read));
    return reply?.[0]?.[1].at(-1)?.[0] ?? after;
  }

  /** @returns whether `token` has the session's lease now. @throws StoreUnavailable */
  async claim(sessionId: string, holder: SlotHolder, token: string): Promise<boolean> {
    const args = [holder, token, LEASE_TTL_MS, SESSION_KEYS_TTL_MS];
    const keys = [...this.#keys.ofSession(sessionId), this.#keys.modelCall];
    return (await fromStore(this.#claim.run(this.#redis, keys, args))) === 1;
  }

  /** Does not say whether the lease is lost: `loss` does. @throws StoreUnavailable */
  async renewLease(sessionId: string, token: string): Promise<void> {
    await fromStore(this.#renew.run(this.#redis, [this.#keys.lease(sessionId)], [token, LEASE_TTL_MS]));
  }

  /** @returns what the session of `token` has lost. @throws StoreUnavailable */
  async loss(sessionId: string, holder: SlotHolder, token: string): Promise<Loss | undefined> {
    const keys = [this.#keys.lease(sessionId), this.#keys.slot];
    const [owner, slot] = await fromStore(this.#redis.mget(...keys));
    if (owner !== token) return 'lease-lost';
    return slot === holder ? undefined : 'slot-lost';
  }

  /** Everything published so far: where an earlier process got to. @throws StoreUnavailable */
  async results(sessionId: string): Promise<ResultEntry[]> {
    const entries = await fromStore(this.#redis.xrange(this.#keys.results(sessionId), '-', '+'));
    return entries.map(parseResultEntry);
  }

  /**
   * Audio after the entry `after` (`0` for all of it).
   * @param blocking a connection of its own  @param blockMs how long to wait for some; 0: only what is there
   * @throws StoreUnavailable at once while Redis is away; MalformedEntry
   */
  async audio(
    blocking: RedisClient,
    sessionId: string,
    after: string,
    blockMs: number,
  ): Promise<AudioEntry[]> {
    const key = this.#keys.audio(sessionId);
    const read =
      blockMs === 0
        ? blocking.xreadBuffer('COUNT', 1_000, 'STREAMS', key, after)
        : blocking.xreadBuffer('COUNT', 1_000, 'BLOCK', blockMs, 'STREAMS', key, after);
    const reply = await fromStore(blockingRead(blocking, read));
    return (reply?.[0]?.[1] ?? []).map(parseAudioEntry);
  }

  /** @returns what was lost when nothing was published. @throws StoreUnavailable */
  async publish(
    sessionId: string,
    holder: SlotHolder,
    token: string,
    entry: Extract<ResultEntry, { kind: 'progress' | 'partial' }>,
  ): Promise<Loss | undefined> {
    const keys = [this.#keys.slot, this.#keys.lease(sessionId), this.#keys.results(sessionId)];
    const reply = await fromStore(
      this.#publish.run(this.#redis, keys, [holder, token, SESSION_KEYS_TTL_MS, ...resultFields(entry)]),
    );
    if (reply === 1) return undefined;
    return reply === 0 ? 'lease-lost' : 'slot-lost';
  }

  /**
   * Publishes the last result (none: the session was aborted or orphaned), deletes the audio and frees the slot in one step.
   * @returns false when the lease was lost: then another process ends the session. @throws StoreUnavailable
   */
  async finish(
    sessionId: string,
    holder: SlotHolder,
    token: string,
    entry?: Extract<ResultEntry, { kind: 'final' | 'failed' }>,
  ): Promise<boolean> {
    const args = [holder, token, SESSION_KEYS_TTL_MS, ...(entry ? resultFields(entry) : [])];
    return (await fromStore(this.#finish.run(this.#redis, this.#keys.ofSession(sessionId), args))) === 1;
  }
}
