import { MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { readWav } from '../../common/audio/wav.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { bytesPerBlock } from '../../common/audio/wav-format.ts';
import { AsrError } from '../protocol/errors.ts';
import { convert } from './converter.ts';
import { toMono } from './samples.ts';

/** Samples (16 kHz, mono), or a WAV file of 8 to 384 kHz, any channels and any usual sample format. */
export type AudioInput = Int16Array | Uint8Array | ArrayBuffer | Blob;

/**
 * Turns a recording into what the service takes: 16 kHz, mono, 16 bits.
 * @throws AsrError `invalid_format`, `empty_audio` or `audio_too_long` (over 15 s; nothing is cut off).
 * What the reader found has a WavError as its cause.
 */
export async function toPcm(audio: AudioInput): Promise<Int16Array> {
  if (audio instanceof Int16Array) {
    checkLength(audio.length, SAMPLE_RATE_HZ);
    return audio;
  }
  if (audio instanceof Blob) return wavToPcm(new Uint8Array(await audio.arrayBuffer()), checkLength);
  return wavToPcm(bytesOf(audio), checkLength);
}

/** @throws AsrError `invalid_format` for anything else */
export function bytesOf(audio: Uint8Array | ArrayBuffer): Uint8Array {
  // A program without types may give a path or floats. As bytes they are no file, and a file would be blamed.
  const kind = kindOf(audio);
  if (!BYTES.has(kind)) {
    const message = `audio is given whole, as a Blob, ArrayBuffer, Uint8Array or Int16Array, not as ${kind}`;
    throw new AsrError('invalid_format', message);
  }
  return audio instanceof Uint8Array ? audio : new Uint8Array(audio);
}

const BYTES: ReadonlySet<string> = new Set(['Uint8Array', 'ArrayBuffer', 'SharedArrayBuffer']);

/** @returns what a value really is, wherever it was made, e.g. `Uint8Array` or `String` */
export const kindOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);

/**
 * Converts a WAV file of any length.
 * @param check is given its length before any sample is converted. @throws AsrError; what `check` throws
 */
export function wavToPcm(file: Uint8Array, check: (samples: number, rateHz: number) => void): Int16Array {
  const wav = rethrown(() => readWav(file));
  check(wav.bytes / bytesPerBlock(wav), wav.rateHz);
  return convert(toMono(wav, file.subarray(wav.startByte, wav.startByte + wav.bytes)), wav.rateHz);
}

/** Hands on what the reader of WAV files says. @throws AsrError with the WavError as its cause */
export function rethrown<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WavError) throw new AsrError(error.code, error.message, { cause: error });
    throw error;
  }
}

/** @throws AsrError `empty_audio` or `audio_too_long` */
export function checkLength(samples: number, rateHz: number): void {
  checkNotEmpty(samples);
  if (samples * SAMPLE_RATE_HZ <= MAX_RECORDING_SAMPLES * rateHz) return;
  const seconds = secondsOf(samples, rateHz);
  throw new AsrError(
    'audio_too_long',
    `The recording is ${seconds} s long; at most 15 s are taken. transcribeLong takes any length`,
  );
}

/** @throws AsrError `empty_audio` */
export function checkNotEmpty(samples: number): void {
  if (samples === 0) throw new AsrError('empty_audio', 'The recording has no audio sample');
}

/** @returns seconds with three decimals, rounded up: one sample too many is not "15.000 s". */
export function secondsOf(samples: number, rateHz: number): string {
  return (Math.ceil((samples * 1000) / rateHz) / 1000).toFixed(3);
}
