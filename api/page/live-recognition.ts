import type { Pcm } from './pcm.ts';
import type { FinalResult, SessionEvents, StreamSession } from './stream-session.ts';

/** A slot is often free again right after `busy`, when somebody else's last model call has returned. */
const BUSY_RETRIES_MS = [250, 500, 750];

export interface LiveRecognition {
  /** The final result; rejects with the Failure that ended the stream. */
  readonly result: Promise<FinalResult>;
  push(frame: Pcm): void;
  end(): void;
  abandon(): void;
}

/**
 * The stream side of one recording: frames go in as they are captured, partial texts come out. `busy` at the start is tried again for 1.5 s,
 * with the audio held so far, so that nothing said meanwhile is lost.
 * @param open starts a session with the service.
 */
export function recognizeLive(
  open: (events: SessionEvents) => Pick<StreamSession, 'push' | 'end' | 'abandon'>,
  partial: (text: string) => void,
): LiveRecognition {
  const frames: Pcm[] = [];
  let session: ReturnType<typeof open> | undefined;
  let retries = 0;
  let ended = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const result = new Promise<FinalResult>((final, reject) => {
    const start = (): void => {
      const opened = open({
        partial,
        final,
        failed(failure) {
          const retryMs = failure.kind === 'busy' ? BUSY_RETRIES_MS[retries] : undefined;
          if (retryMs === undefined) return reject(failure);
          retries += 1;
          timer = setTimeout(start, retryMs);
        },
      });
      session = opened;
      for (const frame of frames) opened.push(frame);
      if (ended) opened.end();
    };
    start();
  });
  return {
    result,
    push(frame) {
      frames.push(frame);
      session?.push(frame);
    },
    end() {
      ended = true;
      session?.end();
    },
    abandon() {
      clearTimeout(timer);
      session?.abandon();
    },
  };
}
