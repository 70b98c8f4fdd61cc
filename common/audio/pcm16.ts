import { CONVERT, SHORTEN } from './file-kinds.ts';
import { BYTES_PER_SAMPLE, CHANNELS, MAX_RECORDING_SAMPLES, SAMPLE_RATE_HZ } from './limits.ts';
import { readWav } from './wav.ts';
import { WavError } from './wav-error.ts';

/**
 * Finds the samples of a WAV file in the one form that the service takes.
 * @returns a view of the PCM bytes (16 kHz mono PCM16, little-endian) in `file`
 * @throws WavError `invalid_format`, `empty_audio` or `audio_too_long` (over 240,000 samples), saying what was found
 */
export function readPcm16(file: Buffer): Buffer {
  const { encoding, channels, rateHz, startByte, bytes } = readWav(file);
  const wrong = (finding: string): WavError =>
    new WavError('invalid_format', `The WAV file has ${finding}`, CONVERT);
  if (encoding !== 'int16') throw wrong(`${encoding} samples, not 16-bit PCM`);
  if (channels !== CHANNELS) throw wrong(`${channels} channels, not ${CHANNELS}`);
  if (rateHz !== SAMPLE_RATE_HZ) throw wrong(`a sample rate of ${rateHz} Hz, not ${SAMPLE_RATE_HZ} Hz`);
  const samples = bytes / BYTES_PER_SAMPLE;
  if (samples === 0) throw new WavError('empty_audio', 'The WAV file has no audio sample');
  if (samples > MAX_RECORDING_SAMPLES) {
    const seconds = (samples / SAMPLE_RATE_HZ).toFixed(3);
    const finding = `The recording has ${samples} samples (${seconds} s); at most ${MAX_RECORDING_SAMPLES} (15 s) are taken`;
    throw new WavError('audio_too_long', finding, SHORTEN);
  }
  return file.subarray(startByte, startByte + bytes);
}
