import type { WriteStream } from 'node:tty';
import { messageOf } from '../../common/errors/errors.ts';
import { printable } from '../../common/errors/printable.ts';
import { AsrError } from '../protocol/errors.ts';
import type { Retry } from '../protocol/retry.ts';
import type { StreamFinal, StreamPartial, TranscriptionResult } from '../protocol/wire.ts';

export interface Output {
  readonly stdout: Pick<WriteStream, 'write'>;
  readonly stderr: Pick<WriteStream, 'write' | 'columns' | 'isTTY'>;
}

/**
 * Says what happens to the recordings. Results go to stdout, the rest to stderr. Partial texts are written
 * over one another in one line of the terminal.
 */
export class Report {
  readonly #output: Output;
  readonly #json: boolean;
  readonly #count: number;
  #isStatusShown = false;

  /** @param count how many recordings there are */
  constructor(output: Output, json: boolean, count: number) {
    this.#output = output;
    this.#json = json;
    this.#count = count;
  }

  listening(file: string): void {
    this.#status(file, 'listening');
  }

  partial(file: string, { revision, text }: StreamPartial): void {
    if (this.#json) this.#line({ file, type: 'partial', revision, text });
    this.#status(file, text);
  }

  retry(file: string, { error, attempt, delayMs }: Retry): void {
    const again = `attempt ${attempt + 1} in ${(delayMs / 1000).toFixed(1)} s`;
    this.#note(`${file}: ${error.code} (${error.message}); ${again}`);
  }

  result(file: string, result: TranscriptionResult | StreamFinal): void {
    this.end();
    if (this.#json) this.#line({ file, ...('finalize_ms' in result ? { type: 'final' } : {}), ...result });
    else this.#output.stdout.write(`${this.#named(file, result.text)}\n`);
  }

  failure(file: string, error: unknown): void {
    const message = messageOf(error);
    const code = error instanceof AsrError ? error.code : 'unreadable';
    if (this.#json) this.#line({ file, error: code, message });
    this.#note(`${file}: ${message} [${code}]`);
  }

  notTried(count: number): void {
    if (count > 0) this.#note(`${count} more ${count === 1 ? 'recording was' : 'recordings were'} not tried`);
  }

  /** Leaves no line in the terminal that was to be written over. */
  end(): void {
    if (this.#isStatusShown) this.#output.stderr.write('\r\x1b[K');
    this.#isStatusShown = false;
  }

  #named(file: string, text: string): string {
    return printable(this.#count > 1 ? `${file}: ${text}` : text);
  }

  #status(file: string, text: string): void {
    const { isTTY, columns } = this.#output.stderr;
    if (!isTTY) return;
    // A second line would never be written over. A Chinese character takes two columns.
    const room = Math.floor((columns || 80) / 2) - 1;
    const characters = [...this.#named(file, text)];
    const cut = characters.length > room ? `…${characters.slice(1 - room).join('')}` : characters.join('');
    this.#output.stderr.write(`\r\x1b[K${cut}`);
    this.#isStatusShown = true;
  }

  #note(text: string): void {
    this.end();
    this.#output.stderr.write(`asr-client: ${printable(text)}\n`);
  }

  #line(value: object): void {
    this.#output.stdout.write(`${JSON.stringify(value)}\n`);
  }
}
