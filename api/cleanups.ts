import { StoreUnavailable } from '../common/errors.ts';
import type { Logger } from '../common/log.ts';

/** What work leaves in the store is removed behind its answer, or when its client has hung up: no client waits for that, but a shutdown does. */
export class Cleanups {
  readonly #log: Logger;
  readonly #pending = new Set<Promise<unknown>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** At once. @param of whose work it was, for the log */
  now(of: Record<string, string>, clean: () => Promise<unknown>): void {
    this.#track(this.#logged(of, clean()));
  }

  /** When what was written to the client in this turn is on its way. */
  behindAnswer(of: Record<string, string>, clean: () => Promise<unknown>): void {
    this.#track(this.#logged(of, new Promise((resolve) => setImmediate(resolve)).then(clean)));
  }

  /** Work that cleans up at its end; who began it hears of its failure. */
  endOf(work: Promise<unknown>): void {
    this.#track(work.catch(() => undefined));
  }

  /** Resolves when none is under way. Those that repeat their command while Redis is away give up by themselves: what they free or remove has a TTL. */
  async finished(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #logged(of: Record<string, string>, cleaning: Promise<unknown>): Promise<unknown> {
    return cleaning.catch((error: unknown) => {
      // Redis was away for too long, or refuses: no fault of ours, whose stack would lead nowhere.
      const why = error instanceof StoreUnavailable ? { reason: error.message } : { err: error };
      this.#log.warn({ ...of, ...why }, 'cleaning up failed');
    });
  }

  #track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}
