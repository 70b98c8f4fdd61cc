import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../../common/config/config-error.ts';
import { messageOf } from '../../common/errors/errors.ts';

/** One run of a program. */
export interface Run {
  readonly pid: number;
  /** Settles when it has ended, for whatever reason. */
  readonly ended: Promise<Ending>;
  /** Asks it to finish what it does and end. */
  finish(): void;
  /** Ends it at once. */
  kill(): void;
}

export interface Ending {
  /** For a person: an exit code or a signal. */
  readonly how: string;
  /** It says of itself that starting it again is of no use. */
  readonly final: boolean;
}

interface SupervisedProcessOptions {
  readonly name: string;
  readonly start: () => Promise<Run>;
  /** Called at every start and end; `pid` is undefined while it does not run. */
  readonly onChange: (pid: number | undefined) => void;
  readonly say: (line: string) => void;
  /** How long it may take to finish, in milliseconds. */
  readonly finishMs: number;
}

/** A run that lasted this long is not one of a series of failures. */
const STABLE_MS = 10_000;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 4_000;

/**
 * Keeps one process running until it is stopped.
 *
 *     running ── ends ──────────────▶ waiting: not at all the first time and after a stable run, else 250 ms, 500 ms ... 4 s
 *     waiting ── delay over ────────▶ running
 *     running ── ends as final ─────▶ failed
 *     running, waiting ── stop() ───▶ stopped
 */
export class SupervisedProcess {
  readonly #options: SupervisedProcessOptions;
  readonly #stopping = new AbortController();
  #run: Run | undefined;
  #failuresInARow = 0;
  #kept: Promise<void> = Promise.resolve();

  constructor(options: SupervisedProcessOptions) {
    this.#options = options;
  }

  /**
   * Begins with a run that has been started, and ends when it was stopped.
   * @throws ConfigError when a run ended as final.
   */
  keep(firstRun: Run): Promise<void> {
    this.#kept = this.#keep(firstRun);
    return this.#kept;
  }

  /** Lets it finish, at most for `finishMs`. @returns false when it had to be killed. */
  async stop(): Promise<boolean> {
    this.#stopping.abort();
    this.#run?.finish();
    const settled = this.#kept.then(
      () => true,
      () => true,
    );
    const timer = new AbortController();
    const tooLong = sleep(this.#options.finishMs, false, { signal: timer.signal }).catch(() => true);
    const inTime = await Promise.race([settled, tooLong]);
    timer.abort();
    if (!inTime) this.#run?.kill();
    await settled;
    return inTime;
  }

  kill(): void {
    this.#stopping.abort();
    this.#run?.kill();
  }

  async #keep(firstRun: Run): Promise<void> {
    let run: Run | undefined = firstRun;
    for (;;) {
      const startedAtMs = performance.now();
      const ending = run === undefined ? DID_NOT_START : await this.#watch(run);
      if (this.#stopping.signal.aborted) return;
      if (ending.final)
        throw new ConfigError(
          `${this.#options.name} cannot run with these settings: its own line above says why`,
        );
      run = await this.#startAgain(ending.how, performance.now() - startedAtMs);
      // Stopped while it was starting: nobody else knows of this run.
      if (this.#stopping.signal.aborted) run?.kill();
    }
  }

  async #watch(run: Run): Promise<Ending> {
    this.#run = run;
    this.#options.onChange(run.pid);
    const ending = await run.ended;
    this.#options.onChange(undefined);
    return ending;
  }

  /** @returns undefined when it did not start. */
  async #startAgain(how: string, lastedMs: number): Promise<Run | undefined> {
    const { name, say, start } = this.#options;
    this.#failuresInARow = lastedMs >= STABLE_MS ? 1 : this.#failuresInARow + 1;
    const delayMs =
      this.#failuresInARow === 1
        ? 0
        : Math.min(FIRST_DELAY_MS * 2 ** (this.#failuresInARow - 2), MAX_DELAY_MS);
    say(`${name} ended (${how}): starting it again${delayMs === 0 ? '' : ` in ${delayMs} ms`}`);
    try {
      if (delayMs > 0) await sleep(delayMs, undefined, { signal: this.#stopping.signal });
      return await start();
    } catch (error) {
      if (!this.#stopping.signal.aborted) say(messageOf(error));
      return undefined;
    }
  }
}

const DID_NOT_START: Ending = { how: 'it did not start', final: false };
