import { readFile, stat } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { IF_BARE, kindOfFile } from '../../common/audio/file-kinds.ts';
import { isWav } from '../../common/audio/wav.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { toPcm } from '../audio/pcm.ts';
import { wavStreamToPcm } from '../audio/wav-stream.ts';
import { AsrError } from '../protocol/errors.ts';
import { decodeWithFfmpeg } from './ffmpeg.ts';

/** After so many bytes it is known whether a file says that it is a WAV. */
const WAV_START_BYTES = 12;

/** @returns samples (16 kHz, mono). @throws AsrError; an `fs` error; the signal's reason when aborted */
export async function readRecordingFile(path: string, signal: AbortSignal): Promise<Int16Array> {
  const file = await readFile(path, { signal });
  // ffmpeg may have to seek. What another program writes (`<(…)` in a shell) can only be read once.
  const isFile = (await stat(path)).isFile();
  return decode(file, isFile ? path : file, signal);
}

/** The same of standard input. @param live hand the samples of a WAV on as they come, not at its end */
export async function readRecordingInput(
  input: AsyncIterable<Buffer>,
  live: boolean,
  signal: AbortSignal,
): Promise<Int16Array | AsyncIterable<Int16Array>> {
  const pieces = input[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (start.length < WAV_START_BYTES) {
    const piece = await pieces.next();
    if (piece.done) break;
    start = Buffer.concat([start, piece.value]);
  }
  const whole = startedAgain(start, pieces);
  if (live && isWav(start)) return wavStreamToPcm(whole);
  const file = await buffer(whole);
  return decode(file, file, signal);
}

async function* startedAgain(start: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, void> {
  yield start;
  for (let piece = await rest.next(); !piece.done; piece = await rest.next()) yield piece.value;
}

/** @param forFfmpeg the file, or its path */
async function decode(file: Buffer, forFfmpeg: string | Buffer, signal: AbortSignal): Promise<Int16Array> {
  try {
    return await toPcm(file);
  } catch (error) {
    const problem = error instanceof AsrError ? error.cause : undefined;
    if (!(problem instanceof WavError && problem.fault === 'foreign')) throw error;
    const isKnown = isWav(file) || kindOfFile(file) !== undefined;
    const todo = isKnown ? 'Copy or export it again' : IF_BARE;
    return decodeWithFfmpeg(forFfmpeg, { finding: problem.finding, todo }, signal);
  }
}
