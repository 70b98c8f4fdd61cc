import { delay } from '../protocol/waiting.ts';
import type { LiveTranscription } from './live-transcription.ts';

/** A source that is so far ahead of the clock is no live one, and can wait. */
const AHEAD_MS = 15_000;
/** As much of it is kept. */
const KEPT_MS = 60_000;
const LOOK_MS = 1_000;

/**
 * Feeds a source of live audio. One that is faster than real time, as a file in a pipe, is read as fast as it is
 * recognized.
 */
export async function feed(live: LiveTranscription, audio: AsyncIterable<Int16Array>): Promise<void> {
  const startedAtMs = performance.now();
  const isFarAhead = (): boolean =>
    live.waitingMs > KEPT_MS && live.receivedMs > performance.now() - startedAtMs + AHEAD_MS;
  try {
    for await (const samples of audio) {
      live.push(samples);
      while (isFarAhead() && !live.stopped.aborted)
        await Promise.race([live.news, delay(LOOK_MS, live.stopped)]).catch(() => {});
      if (live.stopped.aborted) break;
    }
    void live.end();
  } catch (error) {
    live.fail(error);
  }
}
