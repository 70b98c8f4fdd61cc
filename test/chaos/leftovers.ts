import { setTimeout as delay } from 'node:timers/promises';
import type { TestRedis } from '../support/redis/redis.ts';
import { keysLeft } from '../support/service/nothing-left.ts';
import type { KeptRun } from './kept-process.ts';

/** The slot's time of 5 s, and one for the way. */
const SLOT_MS = 6_000;
const GONE_MS = 3_000;
/** The longest time that a key of a recording is given. */
const LONGEST_TTL_MS = 70_000;
const LOOK_MS = 20;

/** What recordings that are over may still have in Redis. */
export class Leftovers {
  readonly #redis: TestRedis;
  /** Keys that all who knew of them were killed for. */
  readonly #orphans = new Set<string>();

  constructor(redis: TestRedis) {
    this.#redis = redis;
  }

  /** @returns who has the slot though his process is gone for longer than the slot lasts */
  async ofDead(runs: readonly KeptRun[]): Promise<string[]> {
    const holder = await this.#redis.client.get('{asr}:slot');
    const pid = Number(/"replica":"[^"]*:(\d+)"/.exec(holder ?? '')?.[1]);
    const run = runs.find(({ process }) => process.child.pid === pid);
    const goneMs = run === undefined ? 0 : Date.now() - run.endedAtMs;
    return goneMs > SLOT_MS ? [`${run?.name} ended ${goneMs} ms ago and still has the slot`] : [];
  }

  /**
   * @param goneAtMs tells since when nobody is there for whom it could be taken, as of `Date.now()`
   * @returns how long it was taken from then on. @throws Error when that is longer than it lasts
   */
  async slotFree(goneAtMs: () => number): Promise<number> {
    let takenMs = 0;
    for (;;) {
      const holder = await this.#redis.client.get('{asr}:slot');
      if (holder === null) return takenMs;
      takenMs = Date.now() - goneAtMs();
      if (takenMs > SLOT_MS)
        throw new Error(`the slot is taken ${takenMs} ms after everybody was gone: ${holder}`);
      await delay(LOOK_MS);
    }
  }

  /**
   * Waits until no key of a recording is there, but for those of dead processes. Those go with their time: a
   * text when its replica is dead, and audio when the inference process that had it is dead, too.
   * @param hit names of processes. @throws Error with what is left
   */
  async none(hit: ReadonlySet<string>): Promise<void> {
    const untilMs = performance.now() + GONE_MS;
    for (;;) {
      const left = (await keysLeft(this.#redis)).filter((key) => !this.#orphans.has(key));
      if (left.length === 0) return;
      if (performance.now() > untilMs) {
        for (const key of left) await this.#mayStay(key, hit);
      }
      await delay(LOOK_MS);
    }
  }

  async #mayStay(key: string, hit: ReadonlySet<string>): Promise<void> {
    const ttlMs = await this.#redis.client.pttl(key);
    const isHit = (kind: string): boolean => [...hit].some((name) => name.startsWith(kind));
    const isText = /:(end|results)$/.test(key);
    const isOrphan = isHit('api') && (isText || isHit('inference')) && ttlMs > 0 && ttlMs <= LONGEST_TTL_MS;
    if (!isOrphan) throw new Error(`left in Redis: ${key}, for ${ttlMs} ms`);
    this.#orphans.add(key);
  }
}
