export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Where progress and errors are written, for a person. */
export interface Screen {
  write(text: string): void;
  /** A terminal gets one line that is written over, anything else a line for every tenth. */
  readonly isTerminal: boolean;
  /** How many characters fit in its line; undefined or 0 where nobody knows. */
  readonly columns?: number | undefined;
}

/** Shows how far one step is: `x-asr-480ms: 12.0 MiB of 127.7 MiB (9 %)`. */
export class Progress {
  readonly #label: string;
  readonly #screen: Screen;
  #line = '';
  #tenth = -1;
  #lineOpen = false;

  constructor(label: string, screen: Screen) {
    this.#label = label;
    this.#screen = screen;
  }

  update(bytes: number, totalBytes: number): void {
    const { isTerminal, columns } = this.#screen;
    const part = Math.min(1, bytes / totalBytes);
    const amount = `${formatBytes(bytes)} of ${formatBytes(totalBytes)} (${Math.floor(part * 100)} %)`;
    // A line that goes on in the next one cannot be written over.
    const line = `${this.#label}: ${amount}`.slice(0, columns || undefined);
    const tenth = Math.floor(part * 10);
    if (isTerminal ? line === this.#line : tenth === this.#tenth) return;
    this.#line = line;
    this.#tenth = tenth;
    this.#screen.write(isTerminal ? `\r\x1b[2K${line}` : `${line}\n`);
    this.#lineOpen = isTerminal;
  }

  /** Writes a line of its own. */
  note(line: string): void {
    this.end();
    this.#screen.write(`${line}\n`);
  }

  /** Before anything else is written. */
  end(): void {
    if (this.#lineOpen) this.#screen.write('\n');
    this.#lineOpen = false;
  }
}
