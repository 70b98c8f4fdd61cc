import type { WriteStream } from 'node:tty';

const TICK_MS = 1_000;

/**
 * Shows that a tool lives: what it does, for how long, and how many of how many are done. In a terminal that is one
 * line, written over each second; elsewhere one line a step, at its beginning.
 */
export class Progress {
  readonly #output: Pick<WriteStream, 'write' | 'isTTY'>;
  #timer: NodeJS.Timeout | undefined;
  #done = 0;

  constructor(output: Pick<WriteStream, 'write' | 'isTTY'> = process.stderr) {
    this.#output = output;
  }

  /** Begins a step, and ends the one before. @param total of what `one` counts, where it is known */
  step(what: string, total?: number): void {
    this.end();
    this.#done = 0;
    if (!this.#output.isTTY) {
      this.#output.write(`${what}${total === undefined ? '' : `, ${total} in all`} ...\n`);
      return;
    }
    const beganAtMs = performance.now();
    const show = (): void => {
      const count = total === undefined ? '' : `, ${this.#done} of ${total}`;
      this.#output.write(`\r\x1b[K${what}${count}, ${elapsed(performance.now() - beganAtMs)}`);
    };
    show();
    this.#timer = setInterval(show, TICK_MS).unref();
  }

  /** One more of the step is done. */
  one(): void {
    this.#done += 1;
  }

  /** Takes the line away, so that others can be printed. */
  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#output.write('\r\x1b[K');
  }
}

export function elapsed(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
