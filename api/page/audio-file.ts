import { Failure } from './failures.ts';
import { FRAME_SAMPLES, MAX_RECORDING_MS, MAX_RECORDING_SAMPLES, MAX_WAV_BYTES } from './limits.ts';
import { FrameAssembler, level, type Pcm, wavFile } from './pcm.ts';
import { Resampler, TARGET_RATE_HZ } from './resampler.ts';

/** A recording ready to be sent: a WAV as the service takes it, and its loudness for every 100 ms. */
export interface ReadyAudio {
  readonly wav: Blob;
  readonly levels: readonly number[];
}

/** More than 15 s of any common format; decoding takes memory many times the file. */
const MAX_FILE_BYTES = 32_000_000;
const COMMON_DEVICE_RATE_HZ = 48_000;

interface WavHeader {
  readonly format: number;
  readonly channels: number;
  readonly rateHz: number;
  readonly bits: number;
  readonly data: DataView;
}

/** The chunks of a RIFF file that matter, or nothing when it is none. */
function wavHeader(bytes: ArrayBuffer): WavHeader | undefined {
  const view = new DataView(bytes);
  const id = (offset: number): string => String.fromCharCode(...new Uint8Array(bytes, offset, 4));
  if (bytes.byteLength < 12 || id(0) !== 'RIFF' || id(8) !== 'WAVE') return undefined;
  let format: Omit<WavHeader, 'data'> | undefined;
  for (let offset = 12; offset + 8 <= bytes.byteLength; ) {
    const size = view.getUint32(offset + 4, true);
    const start = offset + 8;
    if (id(offset) === 'fmt ' && start + 16 <= bytes.byteLength) {
      format = {
        format: view.getUint16(start, true),
        channels: view.getUint16(start + 2, true),
        rateHz: view.getUint32(start + 4, true),
        bits: view.getUint16(start + 14, true),
      };
    }
    if (id(offset) === 'data' && format !== undefined) {
      return { ...format, data: new DataView(bytes, start, Math.min(size, bytes.byteLength - start)) };
    }
    offset = start + size + (size % 2);
  }
  return undefined;
}

/** Loudness of each 100 ms of 16 kHz PCM16. */
function levelsOf(data: DataView): number[] {
  const pcm = new Int16Array(Math.floor(data.byteLength / 2));
  for (let n = 0; n < pcm.length; n += 1) pcm[n] = data.getInt16(2 * n, true);
  const levels: number[] = [];
  for (let n = 0; n < pcm.length; n += FRAME_SAMPLES) levels.push(level(pcm.subarray(n, n + FRAME_SAMPLES)));
  return levels;
}

/**
 * Makes a chosen file ready for the service. A 16 kHz mono PCM16 WAV stays as it is, byte for byte; whatever else this browser can decode
 * (other WAVs, MP3, M4A, Ogg) is mixed to mono and resampled.
 * @throws Failure `file_unreadable`, `file_too_long`, `file_empty`.
 */
export async function readAudioFile(file: File): Promise<ReadyAudio> {
  if (file.size > MAX_FILE_BYTES) throw new Failure('file_too_long', `${file.size} bytes`);
  if (file.size === 0) throw new Failure('file_empty', file.name);
  const bytes = await file.arrayBuffer().catch((error: unknown) => {
    throw new Failure('file_unreadable', String(error));
  });
  const header = wavHeader(bytes);
  const asTaken =
    header?.format === 1 && header.channels === 1 && header.rateHz === TARGET_RATE_HZ && header.bits === 16;
  if (asTaken && bytes.byteLength <= MAX_WAV_BYTES) {
    return { wav: new Blob([bytes], { type: 'audio/wav' }), levels: levelsOf(header.data) };
  }
  if (asTaken && header.data.byteLength > 2 * MAX_RECORDING_SAMPLES)
    throw tooLong(header.data.byteLength / 32);
  return convert(bytes, header?.rateHz ?? COMMON_DEVICE_RATE_HZ);
}

function tooLong(durationMs: number): Failure {
  return new Failure('file_too_long', `${(durationMs / 1000).toFixed(1)} s`);
}

/** Decoding at the file's own rate leaves the resampling to the page's filter. */
async function convert(bytes: ArrayBuffer, rateHz: number): Promise<ReadyAudio> {
  const rate = rateHz >= 8_000 && rateHz <= 96_000 ? rateHz : COMMON_DEVICE_RATE_HZ;
  let audio: AudioBuffer;
  try {
    audio = await new OfflineAudioContext(1, 1, rate).decodeAudioData(bytes);
  } catch (error) {
    throw new Failure('file_unreadable', String(error));
  }
  if (audio.duration * 1000 > MAX_RECORDING_MS) throw tooLong(audio.duration * 1000);
  const mono = new Float32Array(audio.length);
  for (let channel = 0; channel < audio.numberOfChannels; channel += 1) {
    for (const [n, sample] of audio.getChannelData(channel).entries()) {
      mono[n] = (mono[n] ?? 0) + sample / audio.numberOfChannels;
    }
  }
  const resampler = new Resampler(audio.sampleRate);
  const frames = new FrameAssembler();
  const pieces: Pcm[] = [
    ...frames.push(resampler.push(mono)),
    ...frames.push(resampler.flush()),
    ...frames.flush(),
  ];
  return { wav: wavFile(pieces), levels: pieces.map(level) };
}
