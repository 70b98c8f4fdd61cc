/** Where nothing can be written over. */
const NOTE_EVERY_MS = 60_000;

/** How far a recording is, in words. */
export class Progress {
  readonly #startedAtMs = performance.now();
  #notedAtMs = performance.now();

  /** @param lengthMs undefined: not known. @returns e.g. `2:14 of 8:16, 0:35 left` */
  at(positionMs: number, lengthMs: number | undefined): string {
    const done = this.clock(positionMs);
    if (lengthMs === undefined) return `${done} recognized`;
    const elapsedMs = performance.now() - this.#startedAtMs;
    const leftMs = (elapsedMs / positionMs) * Math.max(0, lengthMs - positionMs);
    return `${done} of ${this.clock(lengthMs)}, ${this.clock(leftMs)} left`;
  }

  /** Whether a minute has gone since it was said last. */
  isDue(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#notedAtMs < NOTE_EVERY_MS) return false;
    this.#notedAtMs = nowMs;
    return true;
  }

  /** `8:16`, or `1:02:03` from an hour on. */
  clock(ms: number): string {
    const seconds = Math.round(ms / 1000);
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const rest = String(seconds % 60).padStart(2, '0');
    return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
  }
}
