import { StoreUnavailable } from '../../common/errors/errors.ts';
import type { Logger } from '../../common/process/log.ts';
import { UnderWay } from '../../common/process/under-way.ts';

/**
 * Work that no client waits for, but a shutdown does. Mostly it removes from Redis what an upload or a session leaves there.
 * Work that repeats its command while Redis is away gives up by itself: what it would free or remove has a TTL.
 */
export class BackgroundWork extends UnderWay {
  readonly #log: Logger;

  constructor(log: Logger) {
    super();
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
    const ended = this.begin();
    work.then(ended, ended);
  }
}
