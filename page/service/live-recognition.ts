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
  push(frame: Int16Array): void;
  end(): void;
  abandon(): void;
}

/**
 * The stream side of one recording: frames go in as they are captured, partial texts come out. A session that
 * does not get as far as `ready` is tried again for about 1.5 s, with the audio held so far, so that nothing
 * said meanwhile is lost.
 * @param open starts a session with the service.
 */
export function recognizeLive(
  open: (options: StreamOptions) => AsrStream,
  partial: (text: string) => void,
): LiveRecognition {
  const frames: Int16Array[] = [];
  const abandoned = new AbortController();
  const { signal } = abandoned;
  let stream: AsrStream | undefined;
  let ended = false;
  const attempt = async (): Promise<AsrStream> => {
    const opened = open({ signal, finalTimeoutMs: FINAL_WITHIN_MS });
    stream = opened;
    for (const frame of frames) void opened.send(frame);
    if (ended) void opened.end();
    await opened.ready;
    return opened;
  };
  const run = async (): Promise<StreamFinal> => {
    const opened = await withRetry(attempt, RETRY, signal);
    for await (const { text } of opened) partial(text);
    return opened.final;
  };
  return {
    result: run(),
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
