/** What a run counted and measured. */
export class Tally {
  readonly #counts = new Map<string, number>();
  readonly #longestMs = new Map<string, number>();

  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** Keeps the longest one. */
  took(what: string, ms: number): void {
    this.#longestMs.set(what, Math.max(ms, this.#longestMs.get(what) ?? 0));
  }

  /** @param beginning of what was counted, e.g. `step` */
  sum(beginning: string): number {
    const counts = [...this.#counts].filter(([what]) => what.startsWith(beginning));
    return counts.reduce((sum, [, count]) => sum + count, 0);
  }

  /** Lines of a Markdown table. */
  lines(): string[] {
    const counts = [...this.#counts].map(([what, count]) => [what, String(count)]);
    const longest = [...this.#longestMs].map(([what, ms]) => [
      `${what}, at most`,
      `${(ms / 1_000).toFixed(1)} s`,
    ]);
    return markdownTable([['what', ''], ...counts.sort(), ...longest.sort()]);
  }
}

/** Its lines. */
export function markdownTable([heading = [], ...rows]: readonly (readonly string[])[]): string[] {
  return [heading, heading.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}
