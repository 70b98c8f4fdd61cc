import { BYTES_PER_SAMPLE, MAX_RECORDING_BYTES } from '../../common/audio/limits.ts';
import { unreachable } from '../../common/errors/errors.ts';
import type { RedisClient } from '../../common/redis/client.ts';
import type { SessionConsumer } from '../../common/sessions/session-consumer.ts';

/** A session's audio has a gap or a frame of a wrong size: its result would be of another recording. */
class BrokenAudio extends Error {
  override readonly name = 'BrokenAudio';
}

/** A session's audio, from its first frame on, in order and whole. */
export class SessionAudio {
  readonly #session: SessionConsumer;
  readonly #blocking: RedisClient;
  #after = '0';
  #lastNumber = 0;
  #waiting: Buffer[] = [];
  receivedBytes = 0;
  /** Known from the first read on. */
  fence: number | undefined;
  /** No more comes. */
  ended = false;
  aborted = false;

  /** @param blocking a connection of its own */
  constructor(session: SessionConsumer, blocking: RedisClient) {
    this.#session = session;
    this.#blocking = blocking;
  }

  /**
   * @param blockMs how long to wait for something new; 0: only what is there.
   * @throws BrokenAudio; StoreUnavailable; MalformedEntry
   */
  async read(blockMs: number): Promise<void> {
    const entries = await this.#session.audio(this.#blocking, this.#after, blockMs);
    for (const entry of entries) {
      this.#after = entry.id;
      switch (entry.kind) {
        case 'open':
          this.fence = entry.fence;
          break;
        case 'frame':
          this.#expectNumber(entry.id);
          this.#append(entry.pcm);
          break;
        case 'end':
          this.#expectNumber(entry.id);
          this.ended = true;
          break;
        case 'abort':
          this.aborted = true;
          break;
        default:
          unreachable(entry);
      }
    }
  }

  /** The next `bytes` of it. They must have been received. */
  take(bytes: number): Buffer {
    const all = Buffer.concat(this.#waiting);
    this.#waiting = [all.subarray(bytes)];
    return all.subarray(0, bytes);
  }

  #expectNumber(id: string): void {
    const number = Number.parseInt(id, 10);
    if (number !== this.#lastNumber + 1) {
      throw new BrokenAudio(
        `frame ${this.#lastNumber + 1} is missing: after ${this.#lastNumber} comes ${number}`,
      );
    }
    this.#lastNumber = number;
  }

  #append(pcm: Buffer): void {
    this.receivedBytes += pcm.length;
    if (pcm.length % BYTES_PER_SAMPLE !== 0 || this.receivedBytes > MAX_RECORDING_BYTES) {
      throw new BrokenAudio(
        `frame ${this.#lastNumber} has ${pcm.length} bytes, ${this.receivedBytes} in all`,
      );
    }
    this.#waiting.push(pcm);
  }
}
