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

export interface SupervisedProcessOptions {
  readonly name: string;
  readonly start: () => Promise<Run>;
  /** Called at every start and end; `pid` is undefined while it does not run. */
  readonly onChange?: (pid: number | undefined) => void;
  readonly say: (line: string) => void;
  /** How long it may take to finish, in milliseconds. */
  readonly finishMs: number;
}

/**
 * From one start to the next. What ran for longer is back at once, and what cannot run does not take the
 * whole processor.
 */
const MIN_INTERVAL_MS = 2_000;

/** Keeps one process running until it is stopped. */
export class SupervisedProcess {
  readonly #options: SupervisedProcessOptions;
  readonly #stopping = new AbortController();
  #run: Run | undefined;
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
    let inTime = true;
    const timer = setTimeout(() => {
      inTime = false;
      this.#run?.kill();
    }, this.#options.finishMs);
    // Who waits for keep() hears of an error.
    await this.#kept.catch(() => undefined);
    clearTimeout(timer);
    return inTime;
  }

  kill(): void {
    this.#stopping.abort();
    this.#run?.kill();
  }

  async #keep(firstRun: Run): Promise<void> {
    const { name, onChange, say } = this.#options;
    const { signal } = this.#stopping;
    let run: Run | undefined = firstRun;
    while (run !== undefined) {
      const startedAtMs = performance.now();
      this.#run = run;
      onChange?.(run.pid);
      // Stopped while it was starting: nobody has told this run.
      if (signal.aborted) run.kill();
      const { how, final } = await run.ended;
      onChange?.(undefined);
      if (signal.aborted) return;
      if (final) throw new ConfigError(`${name} cannot run with these settings: its own line above says why`);
      say(`${name} ended (${how}): starting it again`);
      run = await this.#startAgain(startedAtMs);
    }
  }

  /** @returns undefined when it is stopped before it has started */
  async #startAgain(lastStartMs: number): Promise<Run | undefined> {
    const { signal } = this.#stopping;
    for (let lastMs = lastStartMs; ; lastMs = performance.now()) {
      try {
        const waitMs = Math.max(0, lastMs + MIN_INTERVAL_MS - performance.now());
        await sleep(waitMs, undefined, { signal });
        return await this.#options.start();
      } catch (error) {
        if (signal.aborted) return undefined;
        this.#options.say(messageOf(error));
      }
    }
  }
}
