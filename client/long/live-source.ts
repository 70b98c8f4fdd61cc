import { FRAME_SAMPLES } from '../audio/frames.ts';
import { delay } from '../protocol/waiting.ts';
import type { LiveTranscription } from './live-transcription.ts';

/** What a session takes at its beginning. */
const AHEAD_MS = 1_000;

/** Hands audio on as it comes, but no faster than it is spoken: a file in a pipe is taken in real time. */
export async function feed(live: LiveTranscription, audio: AsyncIterable<Int16Array>): Promise<void> {
  try {
    let startedAtMs: number | undefined;
    for await (const samples of audio) {
      startedAtMs ??= performance.now();
      for (let from = 0; from < samples.length; from += FRAME_SAMPLES) {
        live.push(samples.subarray(from, from + FRAME_SAMPLES));
        const aheadMs = live.receivedMs - (performance.now() - startedAtMs) - AHEAD_MS;
        if (aheadMs > 0) await delay(aheadMs, live.stopped);
      }
      if (live.stopped.aborted) return;
    }
    void live.end();
  } catch (error) {
    live.fail(error);
  }
}
