import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { FrameCutter, littleEndian } from '../audio/frames.ts';
import { kindOf, secondsOf } from '../audio/pcm.ts';
import { AsrError } from '../protocol/errors.ts';
import { delay } from '../protocol/waiting.ts';
import type { Pace } from './pace.ts';
import type { Socket } from './socket.ts';

/** Where the interface asks a client to stop sending. */
const MAX_BUFFERED_BYTES = 64_000;
/** Neither platform says when its buffer has room again. */
const DRAIN_POLL_MS = 10;

export type FrameSocket = Pick<Socket, 'bufferedBytes' | 'send'>;

/**
 * Sends one recording in order: in frames of 3,200 bytes, at the given pace, with at most 64,000 bytes
 * waiting in the connection. Before that, at most one recording waits, since no more is accepted.
 */
export class AudioSender {
  readonly #pace: Pace;
  readonly #stopped: AbortSignal;
  readonly #cutter = new FrameCutter();
  #queue: Promise<FrameSocket>;
  #acceptedSamples = 0;

  /** @param sink where the frames go, once it is there. @param stopped ends every wait and all sending */
  constructor(sink: Promise<FrameSocket>, pace: Pace, stopped: AbortSignal) {
    this.#queue = sink;
    this.#pace = pace;
    this.#stopped = stopped;
  }

  /**
   * @throws AsrError `invalid_format`, `audio_too_long` before any of these samples is taken; whatever ended
   * the sink or stopped the sender.
   */
  push(samples: Int16Array): Promise<void> {
    // To TypeScript a file's stream, which gives bytes, is one of anything. Each byte would become a sample.
    if (!(samples instanceof Int16Array)) {
      const message = `audio comes in pieces of Int16Array (16 kHz, mono), not of ${kindOf(samples)}`;
      return Promise.reject(new AsrError('invalid_format', message));
    }
    const totalSamples = this.#acceptedSamples + samples.length;
    if (totalSamples > MAX_RECORDING_SAMPLES) {
      const seconds = secondsOf(totalSamples, SAMPLE_RATE_HZ);
      const message = `the recording would be ${seconds} s long; at most 15 s are taken`;
      return Promise.reject(new AsrError('audio_too_long', message));
    }
    this.#acceptedSamples = totalSamples;
    return this.#enqueue(this.#cutter.push(samples));
  }

  /** Sends the short last frame. */
  flush(): Promise<void> {
    return this.#enqueue(this.#cutter.flush());
  }

  async #enqueue(frames: readonly Int16Array[]): Promise<void> {
    this.#queue = this.#queue.then(async (sink) => {
      for (const frame of frames) await this.#send(sink, littleEndian(frame));
      return sink;
    });
    await this.#queue;
  }

  async #send(sink: FrameSocket, frame: Uint8Array<ArrayBuffer>): Promise<void> {
    const waitMs = this.#pace.take(frame.length, performance.now());
    if (waitMs > 0) await delay(waitMs, this.#stopped);
    while (sink.bufferedBytes + frame.length > MAX_BUFFERED_BYTES) await delay(DRAIN_POLL_MS, this.#stopped);
    this.#stopped.throwIfAborted();
    sink.send(frame);
  }
}
