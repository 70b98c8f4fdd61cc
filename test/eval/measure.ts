import { audioMs, CHUNK_BYTES } from '../../common/audio/limits.ts';
import type { Recognizer } from '../../inference/recognizer.ts';
import { countErrors, type Errors } from './error-rate.ts';
import type { Recording } from './sets.ts';

/** What a model heard in a recording that came in one way. */
export interface Hearing {
  /** The final text. */
  readonly text: string;
  readonly errors: Errors;
  /** Time of each `accept`, in milliseconds; an upload has none. */
  readonly updatesMs: readonly number[];
  readonly finishMs: number;
}

export interface Measurement {
  /** The recording's file name. */
  readonly name: string;
  /** What was said. */
  readonly truth: string;
  readonly audioMs: number;
  /** Recognized whole, as over HTTP. */
  readonly upload: Hearing;
  /** Recognized in chunks of 500 ms, as over WebSocket. */
  readonly stream: Hearing;
}

const WHOLE = Number.POSITIVE_INFINITY;

/** Recognizes a recording twice, as an upload and as a stream. */
export async function measure(recognizer: Recognizer, recording: Recording): Promise<Measurement> {
  const { name, truth, pcm } = recording;
  return {
    name,
    truth,
    audioMs: audioMs(pcm.byteLength),
    upload: await hear(recognizer, recording, WHOLE),
    stream: await hear(recognizer, recording, CHUNK_BYTES),
  };
}

/** @returns the text of an upload. */
export async function uploadText(recognizer: Recognizer, recording: Recording): Promise<string> {
  const { text } = await hear(recognizer, recording, WHOLE);
  return text;
}

/** Hands `pcm` over in whole chunks, and with `finish` what is left of it, which may be nothing. */
async function hear(recognizer: Recognizer, { truth, pcm }: Recording, chunkBytes: number): Promise<Hearing> {
  const updatesMs: number[] = [];
  const stream = await recognizer.open();
  try {
    let start = 0;
    for (; start + chunkBytes <= pcm.byteLength; start += chunkBytes) {
      const startedAtMs = performance.now();
      await stream.accept(pcm.subarray(start, start + chunkBytes));
      updatesMs.push(performance.now() - startedAtMs);
    }
    const startedAtMs = performance.now();
    const text = await stream.finish(pcm.subarray(start));
    return { text, errors: countErrors(truth, text), updatesMs, finishMs: performance.now() - startedAtMs };
  } finally {
    await stream.close();
  }
}
