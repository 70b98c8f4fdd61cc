import {
  BYTES_PER_SAMPLE,
  MAX_BACKLOG_BYTES,
  MAX_FRAME_BYTES,
  MAX_RECORDING_BYTES,
} from '../../common/audio/limits.ts';
import { ServiceFailure } from '../../common/errors/errors.ts';

/**
 * How much audio of one recording has come in, and how much of it still waits for the model. Keeps the limits
 * of the interface, to the byte.
 */
export class ReceivedAudio {
  #receivedBytes = 0;
  #takenBytes = 0;

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /**
   * Counts one frame.
   * @throws ServiceFailure `invalid_frame`, `audio_too_long` or `overloaded`; the frame is then not counted
   */
  add(frame: Buffer): void {
    if (frame.length === 0 || frame.length % BYTES_PER_SAMPLE !== 0 || frame.length > MAX_FRAME_BYTES) {
      const allowed = `send 2 to ${MAX_FRAME_BYTES} bytes, an even number`;
      throw new ServiceFailure('invalid_frame', `a frame of ${frame.length} bytes; ${allowed}`);
    }
    const receivedBytes = this.#receivedBytes + frame.length;
    if (receivedBytes > MAX_RECORDING_BYTES) {
      throw new ServiceFailure(
        'audio_too_long',
        `over ${MAX_RECORDING_BYTES} bytes of audio (15 s) in one recording`,
      );
    }
    const waitingBytes = receivedBytes - this.#takenBytes;
    if (waitingBytes > MAX_BACKLOG_BYTES) {
      const advice = 'over two seconds; send in real time';
      throw new ServiceFailure('overloaded', `${waitingBytes} bytes of audio wait for the model, ${advice}`);
    }
    this.#receivedBytes = receivedBytes;
  }

  /**
   * The model has taken this much in all. After a failover of Redis it may say less than before. What was
   * taken once does not wait again.
   */
  taken(bytes: number): void {
    this.#takenBytes = Math.max(this.#takenBytes, bytes);
  }
}
