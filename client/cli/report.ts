import type { WriteStream } from 'node:tty';
import { messageOf } from '../../common/errors/errors.ts';
import { printable } from '../../common/errors/printable.ts';
import { tenths } from '../../common/time/tenths.ts';
import { cuesOf, srtCue, VTT_START, vttCue } from '../long/subtitles.ts';
import { AsrError } from '../protocol/errors.ts';
import type { Retry } from '../protocol/retry.ts';
import type { Transcript, TranscriptPiece } from '../protocol/transcript.ts';
import type { Format } from './command-line.ts';
import { Progress } from './progress.ts';

export interface Output {
  readonly stdout: Pick<WriteStream, 'write'>;
  readonly stderr: Pick<WriteStream, 'write' | 'columns' | 'isTTY'>;
}

interface ReportOptions {
  readonly format: Format;
  readonly stream: boolean;
  /** How many recordings there are. */
  readonly count: number;
}

/**
 * Says what happens to the recordings. Results go to stdout as they come, the rest to stderr. Partial texts and
 * progress are written over one another in one line of the terminal.
 */
export class Report {
  /** Of the recording, if it is known. */
  lengthMs: number | undefined;
  readonly #output: Output;
  readonly #options: ReportOptions;
  #file = '';
  #progress = new Progress();
  #isStatusShown = false;
  #printed = 0;
  #revision = 0;
  #endedAtMs = 0;
  #isBusySaid = false;

  constructor(output: Output, options: ReportOptions) {
    this.#output = output;
    this.#options = options;
  }

  /** What follows is about this recording. */
  begin(file: string): void {
    this.#file = file;
    this.#progress = new Progress();
    this.#printed = 0;
    this.#revision = 0;
    this.#isBusySaid = false;
    this.lengthMs = undefined;
    if (this.#options.format === 'vtt') this.#output.stdout.write(VTT_START);
  }

  listening(): void {
    this.#status('listening');
  }

  /** @returns the same samples; their end is when the final text begins to be due */
  async *heard(audio: AsyncIterable<Int16Array>): AsyncGenerator<Int16Array, void, void> {
    try {
      yield* audio;
    } finally {
      this.#endedAtMs = performance.now();
    }
  }

  partial(text: string): void {
    this.#revision += 1;
    if (this.#isJson) this.#line({ type: 'partial', revision: this.#revision, text });
    this.#status(text);
  }

  /** @param positionMs how much of the recording is recognized */
  piece(piece: TranscriptPiece, positionMs: number): void {
    this.end();
    const { format, stream } = this.#options;
    if (format === 'text' && piece.text !== '') this.#text(piece.text);
    if (format === 'json' && stream) this.#line({ type: 'piece', ...piece });
    if (format === 'srt' || format === 'vtt')
      for (const cue of cuesOf(piece)) {
        this.#printed += 1;
        this.#output.stdout.write(format === 'srt' ? srtCue(cue, this.#printed) : vttCue(cue));
      }
    if (stream) return;
    const progress = this.#progress.at(positionMs, this.lengthMs);
    if (this.#output.stderr.isTTY) this.#status(progress);
    else if (this.#progress.isDue()) this.#note(`${this.#file}: ${progress}`);
  }

  retry({ error, attempt, delayMs }: Retry): void {
    const again = `attempt ${attempt + 1} in ${(delayMs / 1000).toFixed(1)} s`;
    if (error.code === 'busy') {
      // Each second another attempt: in a terminal one line counts, elsewhere the first says it.
      this.#status(`busy; ${again}`);
      if (this.#output.stderr.isTTY || this.#isBusySaid) return;
      this.#isBusySaid = true;
    }
    this.#note(`${this.#file}: ${error.code} (${error.message}); ${again}`);
  }

  streamFailure({ code, message }: AsrError): void {
    this.#note(`${this.#file}: ${code} (${message}); what was said is kept`);
  }

  result(result: Transcript): void {
    this.end();
    const { text, audio_ms, inference_ms, pieces } = result;
    if (this.#isJson && this.#options.stream) {
      const finalize_ms = tenths(performance.now() - this.#endedAtMs);
      this.#line({ type: 'final', revision: this.#revision + 1, text, audio_ms, finalize_ms });
    } else if (this.#isJson) this.#line({ text, audio_ms, inference_ms, pieces });
    // One line for each recording, also of one without a word.
    else if (this.#options.format === 'text' && this.#printed === 0) this.#text('');
  }

  /** @param soFar what was recognized before; as text or subtitles it is printed already */
  failure(error: unknown, soFar: Transcript | undefined): void {
    const message = messageOf(error);
    const code = error instanceof AsrError ? error.code : 'unreadable';
    if (this.#isJson) this.#line({ error: code, message, ...inPart(soFar) });
    this.#note(`${this.#file}: ${message} [${code}]`);
    if (soFar?.text) this.#note(`${this.#file}: the text ends after ${this.#progress.clock(soFar.audio_ms)}`);
  }

  /** An interrupt. */
  incomplete(soFar: Transcript | undefined): void {
    if (this.#isJson && soFar?.text)
      this.#line({ error: 'interrupted', message: 'it was interrupted', ...inPart(soFar) });
    this.end();
  }

  notTried(count: number): void {
    if (count > 0) this.#note(`${count} more ${count === 1 ? 'recording was' : 'recordings were'} not tried`);
  }

  /** Leaves no line in the terminal that was to be written over. */
  end(): void {
    if (this.#isStatusShown) this.#output.stderr.write('\r\x1b[K');
    this.#isStatusShown = false;
  }

  get #isJson(): boolean {
    return this.#options.format === 'json';
  }

  #text(text: string): void {
    this.#printed += 1;
    this.#output.stdout.write(`${this.#named(text)}\n`);
  }

  #named(text: string): string {
    return printable(this.#options.count > 1 ? `${this.#file}: ${text}` : text);
  }

  #status(text: string): void {
    const { isTTY, columns } = this.#output.stderr;
    if (!isTTY) return;
    // A second line would never be written over. A Chinese character takes two columns.
    const room = Math.floor((columns || 80) / 2) - 1;
    const characters = [...this.#named(text)];
    const cut = characters.length > room ? `…${characters.slice(1 - room).join('')}` : characters.join('');
    this.#output.stderr.write(`\r\x1b[K${cut}`);
    this.#isStatusShown = true;
  }

  #note(text: string): void {
    this.end();
    this.#output.stderr.write(`asr-client: ${printable(text)}\n`);
  }

  #line(value: object): void {
    this.#output.stdout.write(`${JSON.stringify({ file: this.#file, ...value })}\n`);
  }
}

const inPart = (soFar: Transcript | undefined): object =>
  soFar?.text ? { text: soFar.text, audio_ms: soFar.audio_ms, pieces: soFar.pieces } : {};
