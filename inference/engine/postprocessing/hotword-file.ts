import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fail } from '../../../common/config/config-error.ts';
import { messageOf } from '../../../common/errors/errors.ts';
import type { Logger } from '../../../common/process/log.ts';
import { endedWithin } from '../../../common/process/shutdown.ts';
import { type Hotword, parseHotwords } from './hotword-list.ts';

/** The longest wait for the disk: a recording waits for it, and a network disk that is dead never answers. */
const LOOK_MS = 1_000;
/** Far more than a list has. The other end of a link such as `/dev/zero` has none. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Of each reason, line numbers in the log. */
const MAX_SHOWN_LINES = 10;

/** The file that `ASR_HOTWORDS` names. It is read again when it has changed. */
export class HotwordFile {
  readonly #path: string;
  readonly #log: Logger;
  #hotwords: readonly Hotword[] = [];
  #version = '';
  #failure: string | undefined;
  #isLooking = false;

  constructor(path: string, log: Logger) {
    this.#path = resolve(path);
    this.#log = log;
  }

  /** @throws ConfigError if it cannot be read, not in time, or is not UTF-8 */
  async load(): Promise<void> {
    try {
      await this.#look('hot words read; their scores are nats a character, 2.5 where a line has none');
    } catch (error) {
      fail(
        'ASR_HOTWORDS',
        this.#path,
        `cannot be read (${messageOf(error)}): name a file in UTF-8 with one phrase a line`,
      );
    }
  }

  /**
   * The phrases as the file has them now; the same array as before if it has not changed. If it cannot be
   * read in time, those before stay.
   */
  async current(): Promise<readonly Hotword[]> {
    // Each look that hangs keeps one of the four threads that Node reads files with.
    if (this.#isLooking) return this.#hotwords;
    try {
      await this.#look('hot words read again');
      this.#failure = undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== this.#failure)
        this.#log.warn({ reason }, 'hot words cannot be read: those before stay in use');
      this.#failure = reason;
    }
    return this.#hotwords;
  }

  /** One that comes late counts from the next recording on. */
  async #look(event: string): Promise<void> {
    this.#isLooking = true;
    const looking = this.#readIfChanged(event).finally(() => {
      this.#isLooking = false;
    });
    if (!(await endedWithin(looking, LOOK_MS)))
      throw new Error(`its disk has not answered within ${LOOK_MS / 1_000} s`);
  }

  async #readIfChanged(event: string): Promise<void> {
    const file = await stat(this.#path);
    const version = `${file.ino} ${file.size} ${file.mtimeMs}`;
    if (version === this.#version) return;
    if (!file.isFile()) throw new Error('it is no regular file');
    if (file.size > MAX_BYTES)
      throw new Error(`it has ${file.size} bytes, and at most ${MAX_BYTES} are read`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(this.#path));
    this.#version = version;
    const { hotwords, ignored, weighted } = parseHotwords(text);
    this.#hotwords = hotwords;
    const reasons = Object.entries(ignored).map(([reason, lines]) => [
      reason,
      { lines: lines.length, first: lines.slice(0, MAX_SHOWN_LINES) },
    ]);
    const about = { phrases: hotwords.length, ignored: Object.fromEntries(reasons) };
    const level = hotwords.length > 0 ? 'info' : reasons.length > 0 ? 'error' : 'warn';
    this.#log[level](weighted === 0 ? about : { ...about, withoutTheirWeight: weighted }, event);
  }
}
