import { isAscii, isUtf8 } from 'node:buffer';
import { ApiFailure } from '../errors/errors.ts';
import { BYTES_PER_SAMPLE, CHANNELS, MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from './limits.ts';

const FORMAT_PCM = 1;
const FORMAT_FLOAT = 3;
const FORMAT_EXTENSIBLE = 0xfffe;
/** KSDATAFORMAT_SUBTYPE_PCM behind its first two bytes, which are the format code (Microsoft, WAVEFORMATEXTENSIBLE). */
const SUBFORMAT_TAIL = Buffer.from('000000001000800000aa00389b71', 'hex');
/** A program that streams its output cannot know the size and writes one of these, or a little less (ffmpeg, sox, arecord). */
const STREAMING_SIZE = 0x7fff_f000;

const invalid = (message: string): never => {
  throw new ApiFailure('invalid_format', `${message}; send a WAV file with 16-bit PCM, 16000 Hz, mono`);
};

/**
 * Finds the samples of a WAV file (RIFF, chunks in any order and padded, `WAVE_FORMAT_EXTENSIBLE` included).
 * @returns a view of the PCM bytes (16 kHz mono PCM16, little-endian) in `file`.
 * @throws ApiFailure `invalid_format`, `empty_audio` or `audio_too_long` (over 240,000 samples), saying what was found.
 */
export function readWav(file: Buffer): Buffer {
  if (file.length === 0) throw new ApiFailure('empty_audio', 'the file is empty');
  const isRiff = file.toString('latin1', 0, 4) === 'RIFF';
  // Read or sent as a string, a file grows at each byte over 127, so that its fields are elsewhere. A right one is no UTF-8: 16000 begins with the byte 0x80, behind a zero.
  if (isRiff && isUtf8(file) && !isAscii(file)) {
    const msg = 'the WAV file was turned into text, which damages it; read and send it as bytes';
    throw new ApiFailure('invalid_format', msg);
  }
  if (file.length < 12 || !isRiff || file.toString('latin1', 8, 12) !== 'WAVE') {
    return invalid(`not a WAV file: it begins with ${describeStart(file)}`);
  }
  let formatSeen = false;
  let data: Buffer | undefined;
  let position = 12;
  while (position + 8 <= file.length) {
    const id = file.toString('latin1', position, position + 4);
    const declaredBytes = file.readUInt32LE(position + 4);
    const start = position + 8;
    if (id === 'fmt ' && !formatSeen) {
      checkFormat(file.subarray(start, start + declaredBytes), declaredBytes);
      formatSeen = true;
    } else if (id === 'data' && data === undefined) {
      if (declaredBytes >= STREAMING_SIZE) {
        data = file.subarray(start);
        break;
      }
      if (start + declaredBytes > file.length) {
        invalid(
          `the data chunk says ${declaredBytes} bytes, but only ${file.length - start} follow (truncated file)`,
        );
      }
      data = file.subarray(start, start + declaredBytes);
    }
    if (formatSeen && data !== undefined) break;
    position = start + declaredBytes + (declaredBytes % 2);
  }
  if (!formatSeen) return invalid('the WAV file has no fmt chunk');
  if (data === undefined) return invalid('the WAV file has no data chunk');
  if (data.length % BYTES_PER_SAMPLE !== 0)
    return invalid(`the data chunk has ${data.length} bytes, an odd number`);
  if (data.length === 0) throw new ApiFailure('empty_audio', 'the WAV file has no audio sample');
  const samples = data.length / BYTES_PER_SAMPLE;
  if (samples > MAX_RECORDING_SAMPLES) {
    const seconds = (samples / SAMPLE_RATE_HZ).toFixed(3);
    throw new ApiFailure(
      'audio_too_long',
      `the recording has ${samples} samples (${seconds} s); at most ${MAX_RECORDING_SAMPLES} (15 s)`,
    );
  }
  return data;
}

function checkFormat(format: Buffer, declaredBytes: number): void {
  if (format.length < declaredBytes || format.length < 16)
    invalid(`the fmt chunk has ${format.length} bytes, too few`);
  let code = format.readUInt16LE(0);
  const channels = format.readUInt16LE(2);
  const rateHz = format.readUInt32LE(4);
  const blockBytes = format.readUInt16LE(12);
  const bits = format.readUInt16LE(14);
  if (code === FORMAT_EXTENSIBLE) {
    if (format.length < 40) invalid(`the extensible fmt chunk has ${format.length} bytes, not 40`);
    const validBits = format.readUInt16LE(18);
    if (validBits !== 0 && validBits !== bits) invalid(`${validBits} valid bits in ${bits}-bit samples`);
    code = format.subarray(26, 40).equals(SUBFORMAT_TAIL) ? format.readUInt16LE(24) : FORMAT_EXTENSIBLE;
  }
  if (code === FORMAT_FLOAT) invalid('the samples are floating point');
  if (code !== FORMAT_PCM) invalid(`the format code is ${code}, not 1 (PCM)`);
  if (bits !== 16) invalid(`the samples have ${bits} bits`);
  if (channels !== CHANNELS) invalid(`the file has ${channels} channels`);
  if (rateHz !== SAMPLE_RATE_HZ) invalid(`the sample rate is ${rateHz} Hz`);
  if (blockBytes !== CHANNELS * BYTES_PER_SAMPLE) invalid(`the block size is ${blockBytes} bytes, not 2`);
}

/** Names what people send by mistake. */
function describeStart(file: Buffer): string {
  const start = file.toString('latin1', 0, 12);
  if (start.startsWith('\x1aE\xdf\xa3')) return 'a WebM/Matroska header';
  if (start.startsWith('OggS')) return 'an Ogg (Opus) header';
  if (start.startsWith('ID3') || (file[0] === 0xff && ((file[1] ?? 0) & 0xe0) === 0xe0))
    return 'an MP3 or AAC header';
  if (start.startsWith('fLaC')) return 'a FLAC header';
  if (start.startsWith('RF64') || start.startsWith('RIFX'))
    return `${start.slice(0, 4)}, which is not supported`;
  if (start.startsWith('UklG')) return 'Base64 text, which must be decoded first';
  if (start.slice(4, 8) === 'ftyp') return 'an MP4/M4A header';
  return `the bytes ${file.toString('hex', 0, 4)}`;
}
