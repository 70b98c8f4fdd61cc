import { StoreUnavailable } from '../../common/errors/errors.ts';
import type { Logger } from '../../common/process/log.ts';

/** Work that no client waits for, but a shutdown does. Mostly it removes from Redis what an upload or a session leaves there. */
export class BackgroundWork {
  readonly #log: Logger;
  readonly #pending = new Set<Promise<unknown>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Begins when what was written to the client in this turn is on its way.
   * @param of the upload or session, for the log line of a failure
   */
  run(of: Record<string, string>, clean: () => Promise<unknown>): void {
    const cleaning = new Promise((resolve) => setImmediate(resolve)).then(clean);
    this.add(
      cleaning.catch((error: unknown) => {
        // Redis was away for too long, or refuses. That is no fault of ours, and its stack would lead nowhere.
        const why = error instanceof StoreUnavailable ? { reason: error.message } : { err: error };
        this.#log.warn({ ...of, ...why }, 'cleaning up failed');
      }),
    );
  }

  /** Work that has begun and may end in some more; its caller handles its failure. */
  add(work: Promise<unknown>): void {
    const pending = work.catch(() => undefined).finally(() => this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  /**
   * Resolves when none is left. Work that repeats its command while Redis is away gives up by itself: what it
   * would free or remove has a TTL.
   */
  async finished(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}
