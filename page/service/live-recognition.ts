import { type RetryOptions, withRetry } from '../../client/protocol/retry.ts';
import type { StreamFinal } from '../../client/protocol/wire.ts';
import type { AsrStream } from '../../client/stream/stream.ts';
import type { StreamOptions } from '../../client/stream/stream-options.ts';

/** A slot is often free again right after `busy`, when somebody else's last model call has returned. */
const RETRY: RetryOptions = { attempts: 4, firstDelayMs: 250, maxDelayMs: 750 };
/** A session lasts about 40 s at most, whatever happens. */
const FINAL_WITHIN_MS = 40_000;

export interface LiveRecognition {
  /** The final result; rejects with what ended the stream. */
  readonly result: Promise<StreamFinal>;
  /** Whether the service has said `ready`. Until then it may be the turn of others. */
  readonly isOpen: boolean;
  push(frame: Int16Array): void;
  end(): void;
  abandon(): void;
}

/**
 * The stream side of one recording: frames go in as they are captured, partial texts come out. A session that
 * does not get as far as `ready` is tried again for about 1.5 s, with the audio held so far, so that nothing
 * said meanwhile is lost.
 * @param open starts a session with the service.
 * @param opened is called when that is ready.
 */
export function recognizeLive(
  open: (options: StreamOptions) => AsrStream,
  partial: (text: string) => void,
  opened: () => void,
): LiveRecognition {
  const frames: Int16Array[] = [];
  const abandoned = new AbortController();
  const { signal } = abandoned;
  let stream: AsrStream | undefined;
  let ended = false;
  let isOpen = false;
  const attempt = async (): Promise<AsrStream> => {
    const session = open({ signal, finalTimeoutMs: FINAL_WITHIN_MS });
    stream = session;
    for (const frame of frames) void session.send(frame);
    if (ended) void session.end();
    await session.ready;
    isOpen = true;
    opened();
    return session;
  };
  const run = async (): Promise<StreamFinal> => {
    const session = await withRetry(attempt, RETRY, signal);
    for await (const { text } of session) partial(text);
    return session.final;
  };
  return {
    result: run(),
    get isOpen() {
      return isOpen;
    },
    push(frame) {
      frames.push(frame);
      void stream?.send(frame);
    },
    end() {
      ended = true;
      void stream?.end();
    },
    abandon() {
      abandoned.abort();
    },
  };
}
