import type { WriteStream } from 'node:tty';

type Terminal = Pick<WriteStream, 'write' | 'columns' | 'isTTY'>;

/** One line of a terminal that is written over in place. Without a terminal, nothing is written. */
export class StatusLine {
  readonly #terminal: Terminal;
  #shown = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** @param text if the line is too short for `head` and all of it, only its end is shown; if `head` alone fills the line, the end of both */
  show(head: string, text: string): void {
    if (!this.#terminal.isTTY) return;
    const width = (this.#terminal.columns || 80) - 1;
    const room = width - columnsOf(head);
    // What is wider than the terminal would go on in a next line, which is never written over.
    const line = room > 1 ? head + lastColumns(text, room) : lastColumns(head + text, width);
    this.#terminal.write(`\r\x1b[K${line}`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.#terminal.write('\r\x1b[K');
    this.#shown = false;
  }
}

/** Text of others as one line, without anything that could steer a terminal. Marks that turn the direction of writing are removed, too. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, ' ');
}

/** Chinese characters, full-width forms and emoji take two columns (Unicode UAX #11, wide and full-width blocks). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += WIDE.test(character) ? 2 : 1;
  return columns;
}

function lastColumns(text: string, room: number): string {
  if (columnsOf(text) <= room) return text;
  const kept: string[] = [];
  let free = room - 1;
  for (const character of [...text].reverse()) {
    free -= WIDE.test(character) ? 2 : 1;
    if (free < 0) break;
    kept.unshift(character);
  }
  return `…${kept.join('')}`;
}
