import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fail } from '../../common/config/config-error.ts';
import { messageOf } from '../../common/errors/errors.ts';
import type { Logger } from '../../common/process/log.ts';
import { type Hotword, parseHotwords } from '../engine/postprocessing/hotword-list.ts';

/** The file that `ASR_HOTWORDS` names. It is read again when it has changed. */
export class HotwordFile {
  readonly #path: string;
  readonly #log: Logger;
  #hotwords: readonly Hotword[] = [];
  #version = '';

  constructor(path: string, log: Logger) {
    this.#path = resolve(path);
    this.#log = log;
  }

  /** @throws ConfigError if it cannot be read, or is not UTF-8 */
  async load(): Promise<void> {
    try {
      this.#version = await this.#stamp();
      await this.#read('hot words read; their scores are nats a character, 2.5 where a line has none');
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
   * read, those before stay.
   */
  async current(): Promise<readonly Hotword[]> {
    const version = await this.#stamp().catch(messageOf);
    if (version === this.#version) return this.#hotwords;
    this.#version = version;
    await this.#read('hot words read again').catch((error: unknown) =>
      this.#log.warn({ reason: messageOf(error) }, 'hot words cannot be read: those before stay in use'),
    );
    return this.#hotwords;
  }

  async #stamp(): Promise<string> {
    const { ino, size, mtimeMs } = await stat(this.#path);
    return `${ino} ${size} ${mtimeMs}`;
  }

  async #read(event: string): Promise<void> {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(this.#path));
    const { hotwords, ignored } = parseHotwords(text);
    this.#hotwords = hotwords;
    this.#log[hotwords.length === 0 ? 'warn' : 'info']({ phrases: hotwords.length, ignored }, event);
  }
}
