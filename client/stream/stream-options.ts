import type { AudioInput } from '../audio/pcm.ts';

export interface StreamOptions {
  /**
   * What to send: a whole recording, or pieces of 16 kHz mono PCM as they come. It then ends by itself.
   * Pieces may also be ended by `end`: the source hears of it with its next piece.
   * Without it, call `send` and `end`.
   */
  readonly audio?: AudioInput | AsyncIterable<Int16Array> | undefined;
  /**
   * Send as fast as it is spoken. Default: true for a whole recording in `audio`. Other audio is expected to
   * come at its own speed: after a stall of the connection 1 s follows at once, the rest at twice its speed.
   */
  readonly realTime?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for the connection. Default 70,000: behind a queue it waits there, for up to 60 s. */
  readonly connectTimeoutMs?: number | undefined;
  /** Longest wait for the service's `ready` over it. Default 10,000. */
  readonly readyTimeoutMs?: number | undefined;
  /** Longest wait for the final text after the end of the audio. Default 60,000. */
  readonly finalTimeoutMs?: number | undefined;
}

export const isPieces = (audio: AudioInput | AsyncIterable<Int16Array>): audio is AsyncIterable<Int16Array> =>
  // The first two conditions are for programs without types: `in` throws for a path and for null.
  typeof audio === 'object' && audio !== null && Symbol.asyncIterator in audio;
