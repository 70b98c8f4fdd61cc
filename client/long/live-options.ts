import type { AsrError } from '../protocol/errors.ts';
import type { RetryOptions } from '../protocol/retry.ts';
import type { StreamPartial, TranscriptionResult } from '../protocol/wire.ts';
import type { AsrStream } from '../stream/stream.ts';
import type { StreamOptions } from '../stream/stream-options.ts';

/** So much audio may wait for the service; more is not kept. */
export const MAX_WAITING_MINUTES = 5;

export interface LiveOptions {
  /**
   * 16 kHz mono PCM as it comes; faster than real time, it is taken in real time. It then ends by itself. Without
   * it, call `push` and `end`.
   */
  readonly audio?: AsyncIterable<Int16Array> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How uploads go on after busy, not ready and network failures. Without `attempts`: as long as audio may wait. */
  readonly retry?: RetryOptions | undefined;
  /** Is told the text so far of the piece that is being spoken. */
  readonly onPartial?: ((text: string) => void) | undefined;
  /** Is told why a session did not begin or broke. Its piece goes as an upload. */
  readonly onStreamFailure?: ((error: AsrError) => void) | undefined;
}

/** What a session is needed for here. */
export type LiveStream = Pick<AsrStream, 'ready' | 'final' | 'send' | 'end' | 'close'> &
  AsyncIterable<StreamPartial>;

/** How live audio reaches the service. */
export interface LiveService {
  stream(options: StreamOptions): LiveStream;
  /** Recognizes up to 15 s as an upload. */
  recognize(samples: Int16Array, signal: AbortSignal): Promise<TranscriptionResult>;
}
