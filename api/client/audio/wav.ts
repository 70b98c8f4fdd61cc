import { SAMPLE_RATE_HZ } from '../../../common/audio/limits.ts';
import { AsrError } from '../protocol/errors.ts';
import { littleEndian } from './frames.ts';

export interface WavFormat {
  readonly rateHz: number;
  readonly channels: number;
  readonly encoding: SampleEncoding;
}

/** Interleaved samples of a WAV file, still in the file's own form. */
export interface WavAudio extends WavFormat {
  /** Whole blocks of `channels` samples. */
  readonly data: DataView;
}

/** 8-bit PCM is unsigned, all other integers are signed, as WAV has it. */
export type SampleEncoding =
  | 'uint8'
  | 'int16'
  | 'int24'
  | 'int32'
  | 'float32'
  | 'float64'
  | 'a-law'
  | 'mu-law';

export const BYTES_PER_SAMPLE: Readonly<Record<SampleEncoding, number>> = {
  uint8: 1,
  int16: 2,
  int24: 3,
  int32: 4,
  float32: 4,
  float64: 8,
  'a-law': 1,
  'mu-law': 1,
};

const FORMAT_PCM = 1;
const FORMAT_FLOAT = 3;
const FORMAT_A_LAW = 6;
const FORMAT_MU_LAW = 7;
const FORMAT_EXTENSIBLE = 0xfffe;
/** Programs that write to a pipe do not know the size and put 0, one of these, or a little less. */
const STREAMING_SIZE = 0x7fff_f000;
export const MAX_CHANNELS = 64;

/** A WAV file of a codec that is not read here; another program may. */
export class UnknownEncoding extends AsrError {}

/** A WAV file that ends before its own audio does. */
export class TruncatedWav extends AsrError {
  constructor(announcedBytes: number, thereBytes: number) {
    super(
      'invalid_format',
      `the file is truncated: ${announcedBytes} bytes of audio announced, ${thereBytes} there`,
    );
  }
}

const invalid = (message: string): AsrError => new AsrError('invalid_format', message);

/** true when the file says of itself that it is a WAV, readable or not. */
export function isWav(file: Uint8Array): boolean {
  const start = String.fromCharCode(...file.subarray(0, 12));
  return start.startsWith('RIFF') && start.endsWith('WAVE');
}

/**
 * Finds and describes the samples of a WAV file: chunks in any order, `WAVE_FORMAT_EXTENSIBLE`, sizes left open by a program that wrote to a pipe.
 * @throws AsrError `invalid_format`, saying what was found.
 */
export function readWav(file: Uint8Array): WavAudio {
  if (!isWav(file)) throw invalid('not a WAV file (it does not begin with RIFF and WAVE)');
  const { format, place } = findChunks(file);
  if (format === undefined) throw invalid('the WAV file has no whole fmt chunk');
  if (place === undefined) throw invalid('the WAV file has no data chunk');
  const followingBytes = file.byteLength - place.startByte;
  // Some programs put the size of the whole file in place of the sound's.
  const isOpen = place.bytes === undefined || place.bytes === file.byteLength;
  const bytes = isOpen ? followingBytes : place.bytes;
  if (bytes > followingBytes) throw new TruncatedWav(bytes, followingBytes);
  const blockBytes = bytesPerBlock(format);
  const data = new DataView(file.buffer, file.byteOffset + place.startByte, bytes - (bytes % blockBytes));
  return { ...format, data };
}

/** Looks for the `fmt ` and `data` chunks in a file, or in its beginning. @throws AsrError `invalid_format` */
export function findChunks(file: Uint8Array) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let format: WavFormat | undefined;
  /** `bytes` undefined: to the end of the file. */
  let place: { readonly startByte: number; readonly bytes: number | undefined } | undefined;
  for (let position = 12; position + 8 <= view.byteLength && !(format && place); ) {
    const id = String.fromCharCode(...file.subarray(position, position + 4));
    const declaredBytes = view.getUint32(position + 4, true);
    const startByte = position + 8;
    if (id === 'fmt ' && startByte + declaredBytes <= view.byteLength) {
      format = readFormat(new DataView(file.buffer, file.byteOffset + startByte, declaredBytes));
    } else if (id === 'data') {
      const isOpen = declaredBytes === 0 || declaredBytes >= STREAMING_SIZE;
      place = { startByte, bytes: isOpen ? undefined : declaredBytes };
    }
    position = startByte + declaredBytes + (declaredBytes % 2);
  }
  return { format, place };
}

export function bytesPerBlock(format: WavFormat): number {
  return BYTES_PER_SAMPLE[format.encoding] * format.channels;
}

function readFormat(chunk: DataView): WavFormat {
  if (chunk.byteLength < 16) throw invalid(`the fmt chunk has ${chunk.byteLength} bytes, too few`);
  const channels = chunk.getUint16(2, true);
  const rateHz = chunk.getUint32(4, true);
  const blockBytes = chunk.getUint16(12, true);
  const declaredCode = chunk.getUint16(0, true);
  if (declaredCode === FORMAT_EXTENSIBLE && chunk.byteLength < 26)
    throw invalid(`the extensible fmt chunk has ${chunk.byteLength} bytes, too few`);
  const code = declaredCode === FORMAT_EXTENSIBLE ? chunk.getUint16(24, true) : declaredCode;
  if (channels < 1 || channels > MAX_CHANNELS) throw invalid(`the WAV file says it has ${channels} channels`);
  // The block's size decides, not the bits that are valid in it: 20-bit audio lies in 24 bits, shifted to the top.
  const encoding = encodingOf(code, (8 * blockBytes) / channels);
  if (encoding === undefined) {
    const bits = chunk.getUint16(14, true);
    throw new UnknownEncoding(
      'invalid_format',
      `format code ${code} with ${bits} bits is not PCM, float, A-law or μ-law`,
    );
  }
  return { rateHz, channels, encoding };
}

function encodingOf(code: number, containerBits: number): SampleEncoding | undefined {
  switch (`${code}/${containerBits}`) {
    case `${FORMAT_PCM}/8`:
      return 'uint8';
    case `${FORMAT_PCM}/16`:
      return 'int16';
    case `${FORMAT_PCM}/24`:
      return 'int24';
    case `${FORMAT_PCM}/32`:
      return 'int32';
    case `${FORMAT_FLOAT}/32`:
      return 'float32';
    case `${FORMAT_FLOAT}/64`:
      return 'float64';
    case `${FORMAT_A_LAW}/8`:
      return 'a-law';
    case `${FORMAT_MU_LAW}/8`:
      return 'mu-law';
    default:
      return undefined;
  }
}

/** @returns a WAV file (44-byte header) of these samples: 16 kHz, mono, PCM16. */
export function wavOf(samples: Int16Array): Uint8Array<ArrayBuffer> {
  const pcm = littleEndian(samples);
  const file = new Uint8Array(44 + pcm.length);
  const header = new DataView(file.buffer);
  const put = (offset: number, text: string) => file.set(new TextEncoder().encode(text), offset);
  put(0, 'RIFF');
  header.setUint32(4, 36 + pcm.length, true);
  put(8, 'WAVEfmt ');
  header.setUint32(16, 16, true);
  header.setUint16(20, FORMAT_PCM, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, SAMPLE_RATE_HZ, true);
  header.setUint32(28, 2 * SAMPLE_RATE_HZ, true);
  header.setUint16(32, 2, true);
  header.setUint16(34, 16, true);
  put(36, 'data');
  header.setUint32(40, pcm.length, true);
  file.set(pcm, 44);
  return file;
}
