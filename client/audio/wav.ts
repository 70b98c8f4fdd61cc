import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { littleEndian } from './frames.ts';

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
  header.setUint16(20, 1, true);
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
