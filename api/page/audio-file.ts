import { Failure } from './failures.ts';
import { MAX_RECORDING_MS } from './limits.ts';
import { FrameAssembler, level, type Pcm, wavFile } from './pcm.ts';
import { Resampler } from './resampler.ts';

/** A recording ready to be sent: a WAV as the service takes it, and its loudness for every 100 ms. */
export interface ReadyAudio {
  readonly wav: Blob;
  readonly levels: readonly number[];
}

/** More than 15 s of any common format; decoding takes memory many times the file. */
const MAX_FILE_BYTES = 32_000_000;

/** WebKit on Linux never answers for some files, such as µ-law. */
const DECODED_WITHIN_MS = 20_000;

/** Decoding at the file's own rate leaves the resampling to the page's filter. A plain WAV has its rate at byte 24. */
function rateHz(bytes: ArrayBuffer): number {
  const view = new DataView(bytes);
  const isWav = bytes.byteLength > 28 && view.getUint32(0) === 0x52_49_46_46;
  const rate = isWav ? view.getUint32(24, true) : 0;
  return rate >= 8_000 && rate <= 96_000 ? rate : 48_000;
}

/**
 * Makes a chosen file ready for the service: whatever this browser can decode (WAV of any kind, MP3, M4A, Ogg), mixed to mono at 16 kHz.
 * The samples of a WAV that has the service's own format stay as they are, to the bit.
 * @throws Failure `file_unreadable`, `file_too_long`, `file_empty`.
 */
export async function readAudioFile(file: File): Promise<ReadyAudio> {
  if (file.size === 0) throw new Failure('file_empty');
  if (file.size > MAX_FILE_BYTES) throw new Failure('file_too_long', `${file.size} bytes`);
  let audio: AudioBuffer;
  try {
    const bytes = await file.arrayBuffer();
    audio = await Promise.race([
      new OfflineAudioContext(1, 1, rateHz(bytes)).decodeAudioData(bytes),
      new Promise<never>((_, reject) => setTimeout(reject, DECODED_WITHIN_MS, 'no answer')),
    ]);
  } catch (error) {
    throw new Failure('file_unreadable', String(error));
  }
  if (audio.length === 0) throw new Failure('file_empty');
  if (audio.duration * 1000 > MAX_RECORDING_MS) throw new Failure('file_too_long', `${audio.duration} s`);
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
