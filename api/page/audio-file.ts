import { Resampler } from '../client/audio/resampler.ts';
import { Failure } from './failures.ts';
import { MAX_RECORDING_MS } from './limits.ts';
import { DATA, FrameAssembler, level, type Pcm, RIFF, wavFile } from './pcm.ts';

/** A recording ready to be sent: a WAV as the service takes it, and its loudness for every 100 ms. */
export interface ReadyAudio {
  readonly wav: Blob;
  readonly levels: readonly number[];
}

/** More than 15 s of any common format; decoding takes memory many times the file. */
const MAX_FILE_BYTES = 32_000_000;

/** Beyond doubt too long, though some files only let it be estimated. An hour would take 20 s and 1.5 GB to decode. */
const MAX_STATED_SECONDS = 300;
const STATED_WITHIN_MS = 1_000;

/** WebKit on Linux never answers for some files, such as µ-law. */
const DECODED_WITHIN_MS = 20_000;

/** Programs that write to a pipe do not know the size and put one of these, or a little less. */
const STREAMING_SIZE = 0x7fff_f000;
/** Others count the header as sound. */
const MISCOUNTED_BYTES = 100;

const isWav = (view: DataView): boolean => view.byteLength > 28 && view.getUint32(0, true) === RIFF;

/** Decoding at the file's own rate leaves the resampling to the page's filter. A plain WAV has its rate at byte 24. */
function rateHz(view: DataView): number {
  const rate = isWav(view) ? view.getUint32(24, true) : 0;
  return rate >= 8_000 && rate <= 96_000 ? rate : 48_000;
}

/** Where a WAV's sound ends; 0 where it does not say. */
function soundEnd(view: DataView): number {
  for (let at = 12; isWav(view) && at + 8 <= view.byteLength; ) {
    const bytes = view.getUint32(at + 4, true);
    const end = at + 8 + bytes;
    if (view.getUint32(at, true) === DATA) return bytes < STREAMING_SIZE ? bytes && end : 0;
    at = end + (bytes % 2);
  }
  return 0;
}

/** The length, before it is decoded, where the file and the browser give it. */
function statedSeconds(file: File): Promise<number> {
  const audio = new Audio(URL.createObjectURL(file));
  return new Promise<number>((resolve) => {
    audio.onloadedmetadata = () => resolve(audio.duration);
    audio.onerror = () => resolve(0);
    setTimeout(resolve, STATED_WITHIN_MS, 0);
  }).finally(() => URL.revokeObjectURL(audio.src));
}

/**
 * Makes a chosen file ready for the service: whatever this browser can decode (WAV of any kind, MP3, M4A, Ogg), mixed to mono at 16 kHz.
 * The samples of a WAV that has the service's own format stay as they are, to the bit.
 * @throws Failure `file_unreadable`, `file_cut_off`, `file_too_long`, `file_empty`.
 */
export async function readAudioFile(file: File): Promise<ReadyAudio> {
  if (file.size === 0) throw new Failure('file_empty');
  if (file.size > MAX_FILE_BYTES) throw new Failure('file_too_long', `${file.size} bytes`);
  let audio: AudioBuffer;
  try {
    const bytes = await file.arrayBuffer();
    const view = new DataView(bytes);
    const end = soundEnd(view);
    // A browser decodes what is there, so nobody would hear of the words that are not.
    if (end > view.byteLength + MISCOUNTED_BYTES) throw new Failure('file_cut_off');
    // A WAV may leave its length open, and takes four times its own bytes at most.
    const seconds = isWav(view) ? 0 : await statedSeconds(file);
    if (seconds > MAX_STATED_SECONDS && seconds < Infinity)
      throw new Failure('file_too_long', `${seconds} s`);
    audio = await Promise.race([
      new OfflineAudioContext(1, 1, rateHz(view)).decodeAudioData(
        // WebKit on Linux hears nothing in a file with the one byte that makes a size even behind its sound.
        bytes.slice(0, end || bytes.byteLength),
      ),
      new Promise<never>((_, reject) => setTimeout(reject, DECODED_WITHIN_MS, 'no answer')),
    ]);
  } catch (error) {
    throw error instanceof Failure ? error : new Failure('file_unreadable', String(error));
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
