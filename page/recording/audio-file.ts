import { blocksOf } from '../../client/audio/blocks.ts';
import { PcmConverter } from '../../client/audio/converter.ts';
import { Downmix } from '../../client/audio/samples.ts';
import { AsrError } from '../../client/protocol/errors.ts';
import { kindOfFile } from '../../common/audio/file-kinds.ts';
import { isWav, readWavStart } from '../../common/audio/wav.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { bytesPerBlock } from '../../common/audio/wav-format.ts';
import { Failure } from '../service/failures.ts';
import { MAX_DECODED_MB, MAX_DECODED_MINUTES, MAX_MINUTES } from '../texts/texts.ts';
import { AudioParts } from './audio-parts.ts';

const MAX_MS = MAX_MINUTES * 60_000;
/** A browser decodes a file as a whole, into memory many times its size. */
const MAX_DECODED_MS = MAX_DECODED_MINUTES * 60_000;
const MAX_DECODED_BYTES = MAX_DECODED_MB * 1_000_000;
const STATED_WITHIN_MS = 1_000;

/** So much of a file tells its format. */
const START_BYTES = 1 << 16;

/** WebKit on Linux never answers for some files. */
const DECODED_WITHIN_MS = 60_000;

/** Leaves the resampling to the client's filter. */
const DECODED_RATE_HZ = 48_000;

/**
 * Makes a chosen file ready for the service: a WAV of any kind by the client's reader, in slices, and whatever
 * else this browser can decode (MP3, M4A, Ogg). The samples of a WAV that has the service's own format stay as
 * they are, to the bit.
 * @throws Failure or AsrError, for `asFailure` to tell
 */
export async function readAudioFile(file: File): Promise<AudioParts> {
  if (file.size === 0) throw new Failure('file_empty');
  const start = new Uint8Array(await contentOf(file.slice(0, START_BYTES)));
  const parts = new AudioParts();
  try {
    checkStatedLength(file, start);
    for await (const samples of blocksOf(file)) {
      parts.push(samples);
      // Its header may leave the length open.
      if (parts.lengthMs > MAX_MS) throw tooLong(parts.lengthMs);
    }
    return parts;
  } catch (error) {
    // As where the file has been moved or changed since it was chosen.
    if (error instanceof DOMException) throw unreadable(start, error);
    const problem = error instanceof AsrError ? error.cause : error;
    if (!(problem instanceof WavError)) throw error;
    if (problem.fault === 'truncated') throw new Failure('file_cut_off', problem.message);
    if (problem.fault === 'foreign') return decode(file, start, problem);
    if (problem.code === 'empty_audio') throw new Failure('file_empty', problem.message);
    throw isWav(start) ? new Failure('file_damaged', problem.message) : unreadable(start, problem);
  }
}

const contentOf = (file: Blob): Promise<ArrayBuffer> =>
  file.arrayBuffer().catch((error) => {
    throw new Failure('file_unreadable', String(error));
  });

/** Of a WAV, before it is read. @throws Failure; WavError */
function checkStatedLength(file: File, start: Uint8Array): void {
  const wav = readWavStart(start);
  if (wav === undefined) return;
  const thereBytes = file.size - wav.startByte;
  const lengthMs = (Math.min(wav.bytes ?? thereBytes, thereBytes) * 1_000) / bytesPerBlock(wav) / wav.rateHz;
  if (lengthMs > MAX_MS) throw tooLong(lengthMs);
}

/** @param problem what is said of a file that the browser cannot read, either */
async function decode(file: File, start: Uint8Array, problem: WavError): Promise<AudioParts> {
  if (file.size > MAX_DECODED_BYTES)
    throw new Failure('file_too_large', `${file.size} bytes`, { bytes: file.size });
  const stated = await statedMs(file);
  if (stated > MAX_DECODED_MS && stated < Infinity) throw tooLongToDecode(stated);
  const audio = await Promise.race([
    new OfflineAudioContext(1, 1, DECODED_RATE_HZ).decodeAudioData(await contentOf(file)),
    new Promise<never>((_, reject) => setTimeout(reject, DECODED_WITHIN_MS, 'no answer')),
  ]).catch(() => {
    throw unreadable(start, problem);
  });
  const lengthMs = (audio.length * 1_000) / audio.sampleRate;
  if (lengthMs > MAX_DECODED_MS) throw tooLongToDecode(lengthMs);
  if (lengthMs === 0) throw new Failure('file_empty');
  const channels = Array.from({ length: audio.numberOfChannels }, (_, n) => audio.getChannelData(n));
  const parts = new AudioParts();
  const downmix = new Downmix();
  const converter = new PcmConverter(audio.sampleRate);
  // A second at a time: another copy of the whole would not fit beside it, and the page is to answer meanwhile.
  for (let from = 0; from < audio.length; from += audio.sampleRate) {
    await new Promise((resolve) => setTimeout(resolve));
    const length = Math.min(audio.sampleRate, audio.length - from);
    const mono = downmix.push(length, channels.length, (n, channel) => channels[channel]?.[from + n] ?? 0);
    parts.push(converter.push(mono));
  }
  parts.push(converter.flush());
  return parts;
}

const tooLong = (lengthMs: number): Failure => new Failure('file_too_long', `${lengthMs} ms`, { lengthMs });

const tooLongToDecode = (lengthMs: number): Failure =>
  new Failure('file_too_long_to_decode', `${lengthMs} ms`, { lengthMs });

const unreadable = (start: Uint8Array, { message }: Error): Failure =>
  new Failure('file_unreadable', message, { format: kindOfFile(start)?.name });

/** The length, before the file is decoded, if the file and the browser give it. */
function statedMs(file: File): Promise<number> {
  const audio = new Audio(URL.createObjectURL(file));
  return new Promise<number>((resolve) => {
    audio.onloadedmetadata = () => resolve(1_000 * audio.duration);
    audio.onerror = () => resolve(0);
    setTimeout(resolve, STATED_WITHIN_MS, 0);
  }).finally(() => URL.revokeObjectURL(audio.src));
}
