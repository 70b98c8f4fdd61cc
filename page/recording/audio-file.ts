import { convert } from '../../client/audio/converter.ts';
import { toPcm } from '../../client/audio/pcm.ts';
import { Downmix } from '../../client/audio/samples.ts';
import { AsrError } from '../../client/protocol/errors.ts';
import { kindOfFile } from '../../common/audio/file-kinds.ts';
import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { isWav, readWav } from '../../common/audio/wav.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { bytesPerBlock } from '../../common/audio/wav-format.ts';
import { Failure } from '../service/failures.ts';
import { MAX_FILE_MB } from '../texts/texts.ts';

/** More than 15 s of any common format; decoding takes memory many times the file. */
const MAX_FILE_BYTES = MAX_FILE_MB * 1_000_000;
const MAX_LENGTH_MS = (MAX_RECORDING_SAMPLES * 1_000) / SAMPLE_RATE_HZ;

/** Beyond doubt too long, though some files only let it be estimated. An hour would take 20 s and 1.5 GB to decode. */
const MAX_STATED_MS = 300_000;
const STATED_WITHIN_MS = 1_000;

/** WebKit on Linux never answers for some files. */
const DECODED_WITHIN_MS = 20_000;

/** Leaves the resampling to the client's filter. */
const DECODED_RATE_HZ = 48_000;

/**
 * Makes a chosen file ready for the service: a WAV of any kind by the client's reader, and whatever else this
 * browser can decode (MP3, M4A, Ogg). The samples of a WAV that has the service's own format stay as they
 * are, to the bit.
 * @throws Failure or AsrError, for `asFailure` to tell
 */
export async function readAudioFile(file: File): Promise<Int16Array> {
  if (file.size === 0) throw new Failure('file_empty');
  if (file.size > MAX_FILE_BYTES)
    throw new Failure('file_too_large', `${file.size} bytes`, { bytes: file.size });
  const buffer = await file.arrayBuffer().catch((error) => {
    throw new Failure('file_unreadable', String(error));
  });
  const bytes = new Uint8Array(buffer);
  try {
    return await toPcm(bytes);
  } catch (error) {
    if (error instanceof AsrError && error.code === 'audio_too_long')
      throw tooLong(wavMs(bytes), error.message);
    const problem = error instanceof AsrError ? error.cause : undefined;
    if (!(problem instanceof WavError)) throw error;
    if (problem.fault === 'truncated') throw new Failure('file_cut_off', problem.message);
    if (problem.fault === 'foreign') return decode(file, buffer, problem);
    if (problem.code === 'empty_audio') throw error;
    throw isWav(bytes) ? new Failure('file_damaged', problem.message) : unreadable(bytes, problem);
  }
}

/** @param problem what is said of a file that the browser cannot read, either */
async function decode(file: File, buffer: ArrayBuffer, problem: WavError): Promise<Int16Array> {
  const stated = await statedMs(file);
  if (stated > MAX_STATED_MS && stated < Infinity) throw tooLong(stated);
  // Decoding takes the buffer away.
  const start = new Uint8Array(buffer.slice(0, 12));
  const audio = await Promise.race([
    new OfflineAudioContext(1, 1, DECODED_RATE_HZ).decodeAudioData(buffer),
    new Promise<never>((_, reject) => setTimeout(reject, DECODED_WITHIN_MS, 'no answer')),
  ]).catch(() => {
    throw unreadable(start, problem);
  });
  const lengthMs = (audio.length * 1_000) / audio.sampleRate;
  if (lengthMs > MAX_LENGTH_MS) throw tooLong(lengthMs);
  if (lengthMs === 0) throw new Failure('file_empty');
  const channels = Array.from({ length: audio.numberOfChannels }, (_, n) => audio.getChannelData(n));
  const mono = new Downmix().push(audio.length, channels.length, (n, channel) => channels[channel]?.[n] ?? 0);
  return convert(mono, audio.sampleRate);
}

const tooLong = (lengthMs: number, detail = `${lengthMs} ms`): Failure =>
  new Failure('file_too_long', detail, { lengthMs });

const unreadable = (start: Uint8Array, { message }: WavError): Failure =>
  new Failure('file_unreadable', message, { format: kindOfFile(start)?.name });

function wavMs(bytes: Uint8Array): number {
  const wav = readWav(bytes);
  return (wav.bytes * 1_000) / bytesPerBlock(wav) / wav.rateHz;
}

/** The length, before the file is decoded, if the file and the browser give it. */
function statedMs(file: File): Promise<number> {
  const audio = new Audio(URL.createObjectURL(file));
  return new Promise<number>((resolve) => {
    audio.onloadedmetadata = () => resolve(1_000 * audio.duration);
    audio.onerror = () => resolve(0);
    setTimeout(resolve, STATED_WITHIN_MS, 0);
  }).finally(() => URL.revokeObjectURL(audio.src));
}
