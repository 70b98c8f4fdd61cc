import type { WriteStream } from 'node:tty';
import { AsrError, messageOf } from '../protocol/errors.ts';
import type { Retry } from '../protocol/retry.ts';
import type { StreamFinal, StreamPartial, TranscriptionResult } from '../protocol/wire.ts';
import { printable, StatusLine } from './status-line.ts';

export interface Output {
  readonly stdout: Pick<WriteStream, 'write'>;
  readonly stderr: Pick<WriteStream, 'write' | 'columns' | 'isTTY'>;
}

/** Says what happens to the recordings. Results go to stdout, the rest to stderr. What changes is shown in one line of the terminal. */
export class Report {
  readonly #output: Output;
  readonly #json: boolean;
  readonly #count: number;
  readonly #status: StatusLine;

  /** @param count how many recordings there are */
  constructor(output: Output, json: boolean, count: number) {
    this.#output = output;
    this.#json = json;
    this.#count = count;
    this.#status = new StatusLine(output.stderr);
  }

  progress(file: string, number: number, doing: string): void {
    this.#status.show(this.#head(file, number), doing);
  }

  partial(file: string, number: number, { revision, text }: StreamPartial): void {
    if (this.#json) this.#line({ file, type: 'partial', revision, text });
    this.#status.show(this.#head(file, number), printable(text));
  }

  retry(file: string, { error, attempt, attempts, delayMs }: Retry): void {
    const again = `attempt ${attempt + 1} of ${attempts} in ${(delayMs / 1000).toFixed(1)} s`;
    this.#note(`${file}: ${error.code} (${error.message}); ${again}`);
  }

  result(file: string, result: TranscriptionResult | StreamFinal): void {
    this.#status.clear();
    if (this.#json) {
      this.#line({ file, ...('finalize_ms' in result ? { type: 'final' } : {}), ...result });
      return;
    }
    const head = this.#count > 1 ? `${printable(file)}: ` : '';
    this.#output.stdout.write(`${head}${printable(result.text)}\n`);
  }

  failure(file: string, error: unknown): void {
    const message = messageOf(error);
    const code = error instanceof AsrError ? error.code : 'unreadable';
    this.#status.clear();
    if (this.#json) this.#line({ file, error: code, message });
    this.#note(`${file}: ${message} [${code}]`);
  }

  notTried(count: number): void {
    if (count > 0) this.#note(`${count} more ${count === 1 ? 'recording was' : 'recordings were'} not tried`);
  }

  end(): void {
    this.#status.clear();
  }

  #head(file: string, number: number): string {
    const place = this.#count > 1 ? `[${number}/${this.#count}] ` : '';
    return `${place}${printable(file)}  `;
  }

  #note(text: string): void {
    this.#status.clear();
    this.#output.stderr.write(`asr-client: ${printable(text)}\n`);
  }

  #line(value: object): void {
    this.#output.stdout.write(`${JSON.stringify(value)}\n`);
  }
}
