import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { littleEndian } from './frames.ts';

/** @returns a WAV file (44-byte header) of these samples: 16 kHz, mono, PCM16. */
export function wavOf(samples: Int16Array): Uint8Array<ArrayBuffer> {
  const header = wavHeader(samples.length);
  const file = new Uint8Array(header.length + 2 * samples.length);
  file.set(header);
  file.set(littleEndian(samples), header.length);
  return file;
}

/** @returns the 44 bytes before so many samples of 16 kHz, mono, PCM16 */
export function wavHeader(samples: number): Uint8Array<ArrayBuffer> {
  const pcmBytes = 2 * samples;
  const bytes = new Uint8Array(44);
  const header = new DataView(bytes.buffer);
  const put = (offset: number, text: string) => bytes.set(new TextEncoder().encode(text), offset);
  put(0, 'RIFF');
  header.setUint32(4, 36 + pcmBytes, true);
  put(8, 'WAVEfmt ');
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, SAMPLE_RATE_HZ, true);
  header.setUint32(28, 2 * SAMPLE_RATE_HZ, true);
  header.setUint16(32, 2, true);
  header.setUint16(34, 16, true);
  put(36, 'data');
  header.setUint32(40, pcmBytes, true);
  return bytes;
}
