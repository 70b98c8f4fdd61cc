import { open, readFile } from 'node:fs/promises';
import { isWav } from '../../common/audio/wav.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { toPcm } from '../audio/pcm.ts';
import { wavStreamToPcm } from '../audio/wav-stream.ts';
import { AsrError } from '../protocol/errors.ts';
import { decodeWithFfmpeg } from './ffmpeg.ts';

/** 15 s of anything that has a use: 16 channels of 32 bits at 192 kHz are 184 MB. */
const MAX_WAV_BYTES = 268_435_456;

/** After so many bytes it is known whether a file says that it is a WAV. */
const WAV_START_BYTES = 12;

/** Samples (16 kHz, mono): all there, or as they are spoken. */
export type Recording =
  | { readonly kind: 'whole'; readonly samples: Int16Array }
  | { readonly kind: 'live'; readonly samples: AsyncIterable<Int16Array> };

/** @throws AsrError; an `fs` error when the file cannot be read; the signal's reason when aborted. */
export async function readRecordingFile(path: string, signal: AbortSignal): Promise<Recording> {
  const file = await open(path);
  try {
    const stat = await file.stat();
    // What another program writes (`<(…)` in a shell) can be read once only.
    if (stat.isFIFO()) return await readRecordingInput(file.createReadStream(), false, signal);
    const start = Buffer.alloc(WAV_START_BYTES);
    const { bytesRead } = await file.read(start, 0, WAV_START_BYTES, 0);
    if (bytesRead === 0) throw empty();
    if (!isWav(start))
      return { kind: 'whole', samples: await decode(start.subarray(0, bytesRead), path, signal) };
    if (stat.size > MAX_WAV_BYTES) throw tooLarge(stat.size);
  } finally {
    await file.close();
  }
  return { kind: 'whole', samples: await decode(await readFile(path, { signal }), path, signal) };
}

/** @param input standard input, or what another program writes. @param live hand a WAV on as it comes, instead of waiting for its end */
export async function readRecordingInput(
  input: AsyncIterable<Buffer>,
  live: boolean,
  signal: AbortSignal,
): Promise<Recording> {
  const pieces = input[Symbol.asyncIterator]();
  const held: Buffer[] = [];
  let heldBytes = 0;
  // Asked once: joining what is held again for every piece costs the square of its length.
  let mayBeLive = live;
  for (;;) {
    signal.throwIfAborted();
    const piece = await pieces.next();
    if (piece.done) break;
    held.push(piece.value);
    heldBytes += piece.value.length;
    if (heldBytes > MAX_WAV_BYTES) throw tooLarge(heldBytes);
    if (mayBeLive && heldBytes >= WAV_START_BYTES) {
      mayBeLive = false;
      const start = Buffer.concat(held);
      if (isWav(start)) return { kind: 'live', samples: wavStreamToPcm(startedAgain(start, pieces)) };
    }
  }
  if (heldBytes === 0) throw empty();
  const file = Buffer.concat(held);
  return { kind: 'whole', samples: await decode(file, file, signal) };
}

async function* startedAgain(start: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, void> {
  yield start;
  for (let piece = await rest.next(); !piece.done; piece = await rest.next()) yield piece.value;
}

/** @param file a WAV, or the beginning of what is none. @param forFfmpeg the whole file, or its path */
async function decode(file: Buffer, forFfmpeg: string | Buffer, signal: AbortSignal): Promise<Int16Array> {
  try {
    return await toPcm(file);
  } catch (error) {
    const problem = error instanceof AsrError ? error.cause : undefined;
    if (!(problem instanceof WavError && problem.fault === 'foreign')) throw error;
    return decodeWithFfmpeg(forFfmpeg, problem.finding, signal);
  }
}

const empty = (): AsrError => new AsrError('empty_audio', 'the input is empty');

function tooLarge(bytes: number): AsrError {
  const megabytes = Math.round(bytes / 1_000_000);
  return new AsrError(
    'audio_too_long',
    `the input has ${megabytes} MB, more than a recording of 15 s; split it`,
  );
}
