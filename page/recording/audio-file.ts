import { convert } from '../../client/audio/converter.ts';
import { checkLength, toPcm } from '../../client/audio/pcm.ts';
import { AsrError } from '../../client/protocol/errors.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { Failure } from '../service/failures.ts';

/** More than 15 s of any common format; decoding takes memory many times the file. */
const MAX_FILE_BYTES = 32_000_000;

/** Beyond doubt too long, though some files only let it be estimated. An hour would take 20 s and 1.5 GB to decode. */
const MAX_STATED_SECONDS = 300;
const STATED_WITHIN_MS = 1_000;

/** WebKit on Linux never answers for some files. */
const DECODED_WITHIN_MS = 20_000;

/** Leaves the resampling to the client's filter. */
const DECODED_RATE_HZ = 48_000;

/**
 * Makes a chosen file ready for the service: a WAV of any kind by the client's reader, and whatever else this browser can decode (MP3, M4A, Ogg).
 * The samples of a WAV that has the service's own format stay as they are, to the bit.
 * @throws Failure or AsrError, for `asFailure` to tell
 */
export async function readAudioFile(file: File): Promise<Int16Array> {
  if (file.size === 0) throw new Failure('file_empty');
  if (file.size > MAX_FILE_BYTES) throw new Failure('file_too_long', `${file.size} bytes`);
  const bytes = await file.arrayBuffer().catch(unreadable);
  try {
    return await toPcm(bytes);
  } catch (error) {
    const problem = error instanceof AsrError ? error.cause : undefined;
    if (!(problem instanceof WavError) || problem.fault === 'other') throw error;
    if (problem.fault === 'truncated') throw new Failure('file_cut_off', problem.message);
    return decode(file, bytes, problem);
  }
}

/** @param problem what is said of a file that the browser cannot read, either */
async function decode(file: File, bytes: ArrayBuffer, problem: WavError): Promise<Int16Array> {
  const seconds = await statedSeconds(file);
  if (seconds > MAX_STATED_SECONDS && seconds < Infinity) throw new Failure('file_too_long', `${seconds} s`);
  const audio = await Promise.race([
    new OfflineAudioContext(1, 1, DECODED_RATE_HZ).decodeAudioData(bytes),
    new Promise<never>((_, reject) => setTimeout(reject, DECODED_WITHIN_MS, 'no answer')),
  ]).catch(() => unreadable(problem.message));
  checkLength(audio.length, audio.sampleRate);
  const mono = new Float32Array(audio.length);
  for (let channel = 0; channel < audio.numberOfChannels; channel += 1) {
    for (const [n, sample] of audio.getChannelData(channel).entries()) {
      mono[n] = (mono[n] ?? 0) + sample / audio.numberOfChannels;
    }
  }
  return convert(mono, audio.sampleRate);
}

function unreadable(error: unknown): never {
  throw new Failure('file_unreadable', String(error));
}

/** The length in seconds, before the file is decoded, if the file and the browser give it. */
function statedSeconds(file: File): Promise<number> {
  const audio = new Audio(URL.createObjectURL(file));
  return new Promise<number>((resolve) => {
    audio.onloadedmetadata = () => resolve(audio.duration);
    audio.onerror = () => resolve(0);
    setTimeout(resolve, STATED_WITHIN_MS, 0);
  }).finally(() => URL.revokeObjectURL(audio.src));
}
