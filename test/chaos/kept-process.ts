import { type Run, SupervisedProcess } from '../../launch/supervisor/child-process.ts';
import type { ProcessUnderTest } from '../support/service/inference-process.ts';

/** One run of a process, and what was done to it. Times are those of `Date.now()`, as in its log. */
export interface KeptRun {
  readonly name: string;
  readonly process: ProcessUnderTest;
  /** When it stood still (SIGSTOP); the last time may not be over. */
  readonly stops: { readonly fromMs: number; toMs: number }[];
  endedAtMs: number;
  /** It was killed, or told to end. */
  isEndAsked: boolean;
}

/** A process that is started again whenever it ends, by the supervisor of `npm start`. */
export class KeptProcess {
  readonly name: string;
  /** The present one last. */
  readonly runs: KeptRun[] = [];
  readonly #start: () => ProcessUnderTest;
  readonly #onSelfEnd: (run: KeptRun, how: string) => void;
  readonly #supervised: SupervisedProcess;
  readonly #kept: Promise<void>;

  /** @param onSelfEnd hears of an end that nobody asked for */
  constructor(
    name: string,
    start: () => ProcessUnderTest,
    onSelfEnd: (run: KeptRun, how: string) => void = () => undefined,
  ) {
    this.name = name;
    this.#start = start;
    this.#onSelfEnd = onSelfEnd;
    this.#supervised = new SupervisedProcess({
      name,
      start: async () => this.#begin(),
      onChange: () => undefined,
      say: () => undefined,
      finishMs: 0,
    });
    this.#kept = this.#supervised.keep(this.#begin());
  }

  get run(): KeptRun {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error(`${this.name} was never started`);
    return run;
  }

  /** SIGKILL, or SIGTERM, after which it finishes what it does. */
  end(signal: 'SIGKILL' | 'SIGTERM'): void {
    this.run.isEndAsked = true;
    this.run.process.kill(signal);
  }

  /** It stands still. @returns what lets the same run go on */
  standStill(): () => void {
    const { process, stops } = this.run;
    const stop = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    stops.push(stop);
    process.kill('SIGSTOP');
    return () => {
      process.kill('SIGCONT');
      stop.toMs = Date.now();
    };
  }

  /** Kills it for good. */
  async stop(): Promise<void> {
    this.run.isEndAsked = true;
    this.#supervised.kill();
    await this.#kept;
  }

  #begin(): Run {
    const { name } = this;
    const process = this.#start();
    const run: KeptRun = {
      name,
      process,
      stops: [],
      endedAtMs: Number.POSITIVE_INFINITY,
      isEndAsked: false,
    };
    this.runs.push(run);
    const ended = process.exited.then(({ code, signal }) => {
      run.endedAtMs = Date.now();
      const how = signal ?? `exit code ${code}`;
      if (!run.isEndAsked) this.#onSelfEnd(run, how);
      return { how, final: false };
    });
    return {
      pid: process.child.pid ?? 0,
      ended,
      finish: () => process.kill('SIGTERM'),
      kill: () => process.kill('SIGKILL'),
    };
  }
}
