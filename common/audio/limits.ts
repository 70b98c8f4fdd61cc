/** The interface's audio format and limits; every other number about audio is derived from these. */
export const SAMPLE_RATE_HZ = 16_000;
export const CHANNELS = 1;
export const ENCODING = 'pcm_s16le';
export const BYTES_PER_SAMPLE = 2;
export const BYTES_PER_SECOND = SAMPLE_RATE_HZ * BYTES_PER_SAMPLE;

export const MAX_RECORDING_SAMPLES = 240_000;
export const MAX_RECORDING_BYTES = MAX_RECORDING_SAMPLES * BYTES_PER_SAMPLE;

export const MAX_WAV_BYTES = 484_096;
export const MAX_MULTIPART_BYTES = 545_536;

export const MAX_FRAME_BYTES = 3_200;
export const MAX_BACKLOG_BYTES = 2 * BYTES_PER_SECOND;
export const MAX_CONTROL_CHARACTERS = 1_024;

/** Audio that one model update takes on the stream; announced as `chunk_ms`. */
export const CHUNK_MS = 500;
export const CHUNK_BYTES = (BYTES_PER_SECOND * CHUNK_MS) / 1000;

/** Duration of `pcmBytes` of audio in whole milliseconds, rounded. */
export function audioMs(pcmBytes: number): number {
  // The product first: it is whole, and the quotient exact at half a millisecond, which rounds up.
  return Math.round((pcmBytes * 1000) / BYTES_PER_SECOND);
}
