import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { IF_BARE, kindOfFile } from '../../common/audio/file-kinds.ts';
import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { isWav, readWavStart } from '../../common/audio/wav.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { bytesPerBlock } from '../../common/audio/wav-format.ts';
import { wavBlocks } from '../audio/blocks.ts';
import { checkNotEmpty, rethrown, wavToPcm } from '../audio/pcm.ts';
import { wavStreamToPcm } from '../audio/wav-stream.ts';
import { AsrError } from '../protocol/errors.ts';
import { decodeWithFfmpeg, statedMs } from './ffmpeg.ts';

/** After so many bytes it is known whether a file says that it is a WAV. */
const WAV_START_BYTES = 12;
/** What is read before anything is sent. A file that is not longer is checked as a whole. */
const START_BYTES = 1 << 20;

export interface RecordingSource {
  /** 16 kHz mono, as it is read. @throws AsrError; an `fs` error; the signal's reason when aborted */
  readonly audio: AsyncIterable<Int16Array>;
  /** If the file tells it before its end. */
  readonly lengthMs: number | undefined;
}

/** @throws as its `audio` */
export async function readRecordingFile(path: string, signal: AbortSignal): Promise<RecordingSource> {
  const status = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new Error('there is no such file; check its name and folder', { cause: error })
      : error;
  });
  if (status.isDirectory())
    throw new Error('it is a folder; give the recordings in it, such as FOLDER/*.wav');
  // What another program writes (`<(…)` in a shell) can only be read once.
  if (!status.isFile()) return readRecordingInput(createReadStream(path, { signal }), false, signal);
  const read = async (from: number, to: number): Promise<Buffer> => {
    signal.throwIfAborted();
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(to - from), 0, to - from, from);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  };
  const bytes = status.size;
  const start = await read(0, Math.min(bytes, START_BYTES));
  const found = fromWav(start, bytes, () => wavBlocks({ bytes, read }));
  if (!(found instanceof WavError)) return found;
  // By its path: ffmpeg may have to seek.
  const audio = decodeWithFfmpeg(path, inWords(start, found), signal);
  return { audio, lengthMs: await statedMs(path, signal) };
}

/** The same of standard input. @param live hand the samples of a WAV on as they come */
export async function readRecordingInput(
  input: AsyncIterable<Buffer>,
  live: boolean,
  signal: AbortSignal,
): Promise<RecordingSource> {
  const pieces = input[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  let readBytes = 0;
  let isWhole = false;
  while (!isWhole && readBytes < (live ? WAV_START_BYTES : START_BYTES)) {
    const piece = await pieces.next();
    isWhole = piece.done === true;
    if (piece.done) break;
    read.push(piece.value);
    readBytes += piece.value.length;
  }
  const start = Buffer.concat(read);
  const whole = () => startedAgain(start, pieces);
  if (live && isWav(start)) return { audio: wavStreamToPcm(whole()), lengthMs: undefined };
  const found = fromWav(start, isWhole ? readBytes : undefined, () => wavStreamToPcm(whole()));
  if (!(found instanceof WavError)) return found;
  return { audio: decodeWithFfmpeg(whole(), inWords(start, found), signal), lengthMs: undefined };
}

async function* startedAgain(start: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, void> {
  yield start;
  for (let piece = await rest.next(); !piece.done; piece = await rest.next()) yield piece.value;
}

/**
 * @param start of the file. @param bytes its length, if it is known. @param audio reads it from its beginning
 * @returns the problem with what ffmpeg may read. @throws AsrError
 */
function fromWav(
  start: Buffer,
  bytes: number | undefined,
  audio: () => AsyncIterable<Int16Array>,
): RecordingSource | WavError {
  try {
    if (bytes === start.length) {
      const samples = wavToPcm(start, checkNotEmpty);
      return { audio: once(samples), lengthMs: (1000 * samples.length) / SAMPLE_RATE_HZ };
    }
    const found = rethrown(() => readWavStart(start));
    const audioBytes = found && (found.bytes ?? (bytes === undefined ? undefined : bytes - found.startByte));
    const lengthMs = audioBytes && (1000 * audioBytes) / bytesPerBlock(found) / found.rateHz;
    return { audio: audio(), lengthMs };
  } catch (error) {
    const problem = error instanceof AsrError ? error.cause : undefined;
    if (problem instanceof WavError && problem.fault === 'foreign') return problem;
    throw error;
  }
}

function inWords(start: Buffer, { finding }: WavError): { finding: string; todo: string } {
  const isKnown = isWav(start) || kindOfFile(start) !== undefined;
  return { finding, todo: isKnown ? 'Copy or export it again' : IF_BARE };
}

async function* once(samples: Int16Array): AsyncGenerator<Int16Array, void, void> {
  yield samples;
}
