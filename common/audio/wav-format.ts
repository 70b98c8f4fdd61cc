import { CONVERT, latin1 } from './file-kinds.ts';
import { damaged, WavError } from './wav-error.ts';

/** 8-bit PCM is unsigned, all other integers are signed, as WAV has it. */
export const SAMPLE_BYTES = {
  uint8: 1,
  int16: 2,
  int24: 3,
  int32: 4,
  float32: 4,
  float64: 8,
  'a-law': 1,
  'mu-law': 1,
} as const;
export type SampleEncoding = keyof typeof SAMPLE_BYTES;

export interface WavFormat {
  readonly rateHz: number;
  readonly channels: number;
  readonly encoding: SampleEncoding;
}

/** By format code and the bits of a sample in whole bytes: 20 bits lie in three, shifted to the top (Microsoft, WAVEFORMATEX). */
const ENCODINGS: Readonly<Record<string, SampleEncoding>> = {
  '1/8': 'uint8',
  '1/16': 'int16',
  '1/24': 'int24',
  '1/32': 'int32',
  '3/32': 'float32',
  '3/64': 'float64',
  '6/8': 'a-law',
  '7/8': 'mu-law',
};
const FORMAT_EXTENSIBLE = 0xfffe;
/** A sub-format of WAVE_FORMAT_EXTENSIBLE is a format code and these bytes (Microsoft, WAVEFORMATEXTENSIBLE). */
const SUBFORMAT_TAIL = '\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71';
export const MAX_CHANNELS = 64;

export function bytesPerBlock({ encoding, channels }: WavFormat): number {
  return SAMPLE_BYTES[encoding] * channels;
}

/** @param chunk the content of the `fmt ` chunk, as far as it is there. @throws WavError `invalid_format` */
export function readFormat(chunk: DataView): WavFormat {
  if (chunk.byteLength < 16)
    throw damaged(`The fmt chunk of the WAV file has ${chunk.byteLength} bytes, too few`);
  const channels = chunk.getUint16(2, true);
  const rateHz = chunk.getUint32(4, true);
  const bits = chunk.getUint16(14, true);
  if (channels < 1 || channels > MAX_CHANNELS)
    throw damaged(`The WAV file says that it has ${channels} channels`);
  const code = formatCode(chunk);
  const encoding = ENCODINGS[`${code}/${8 * Math.ceil(bits / 8)}`];
  if (encoding === undefined) {
    const finding = `The WAV file has the format code ${code} with ${bits} bits, which is not PCM, float, A-law or mu-law`;
    throw new WavError('invalid_format', finding, CONVERT, 'foreign');
  }
  // Cool Edit wrote floats under this description (libsndfile, wavlike.c): players disagree, so any text would be a guess.
  if (encoding === 'int24' && chunk.getUint16(12, true) === 4 * channels)
    throw damaged(`The WAV file says ${bits} bits and 4 bytes a sample, which contradict each other`);
  return { rateHz, channels, encoding };
}

function formatCode(chunk: DataView): number {
  const code = chunk.getUint16(0, true);
  if (code !== FORMAT_EXTENSIBLE) return code;
  if (chunk.byteLength < 40)
    throw damaged(`The extensible fmt chunk of the WAV file has ${chunk.byteLength} bytes, not 40`);
  const tail = latin1(new Uint8Array(chunk.buffer, chunk.byteOffset + 26, 14), 0, 14);
  return tail === SUBFORMAT_TAIL ? chunk.getUint16(24, true) : code;
}
