export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export interface ProgressOutput {
  write(text: string): void;
  /** A terminal gets one line that is written over, anything else a line for every tenth. */
  readonly isTerminal: boolean;
  /** How many characters fit in its line; undefined or 0 where nobody knows. */
  readonly columns?: number | undefined;
  /** Milliseconds that only grow. */
  now(): number;
}

const SPEED_WINDOW_MS = 5_000;
const REDRAW_EVERY_MS = 200;

/** Shows how far one step is: bytes, speed over the last five seconds, time left. */
export class Progress {
  readonly #label: string;
  readonly #output: ProgressOutput;
  #samples: { atMs: number; bytes: number }[] = [];
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #drawnTenth = -1;
  #lineOpen = false;

  constructor(label: string, output: ProgressOutput) {
    this.#label = label;
    this.#output = output;
  }

  update(bytes: number, totalBytes: number): void {
    const atMs = this.#output.now();
    this.#samples.push({ atMs, bytes });
    // One sample older than the window stays: the speed is measured from there.
    const firstInside = this.#samples.findIndex((sample) => sample.atMs > atMs - SPEED_WINDOW_MS);
    if (firstInside > 1) this.#samples = this.#samples.slice(firstInside - 1);
    const tenth = Math.floor((bytes / totalBytes) * 10);
    const due = this.#output.isTerminal
      ? atMs - this.#drawnAtMs >= REDRAW_EVERY_MS || bytes >= totalBytes
      : tenth > this.#drawnTenth;
    if (!due) return;
    this.#drawnAtMs = atMs;
    this.#drawnTenth = tenth;
    const line = this.#line(bytes, totalBytes);
    this.#output.write(this.#output.isTerminal ? `\r\x1b[2K${line}` : `${line}\n`);
    this.#lineOpen = this.#output.isTerminal;
  }

  /** Before anything else is written. */
  end(): void {
    if (this.#lineOpen) this.#output.write('\n');
    this.#lineOpen = false;
  }

  #line(bytes: number, totalBytes: number): string {
    const percent = Math.min(100, Math.floor((bytes / totalBytes) * 100));
    const parts = [`${this.#label}: ${formatBytes(bytes)} of ${formatBytes(totalBytes)} (${percent} %)`];
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first !== undefined && last !== undefined && last.atMs > first.atMs && last.bytes > first.bytes) {
      const bytesPerSecond = ((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000;
      parts.push(`${formatBytes(Math.round(bytesPerSecond))}/s`);
      if (bytes < totalBytes) parts.push(`${formatDuration((totalBytes - bytes) / bytesPerSecond)} left`);
    }
    // A line that goes on in the next one cannot be written over. The time left is worth more than the speed.
    const columns = this.#output.columns || Number.POSITIVE_INFINITY;
    while (parts.length > 1 && parts.join(', ').length > columns) parts.splice(1, 1);
    return parts.join(', ').slice(0, columns);
  }
}
