import { AsrError } from '../protocol/errors.ts';
import { PcmConverter } from './converter.ts';
import { checkLength } from './pcm.ts';
import { toMono } from './samples.ts';
import { bytesPerBlock, findChunks, isWav, TruncatedWav, type WavFormat } from './wav.ts';

/** Longer than anything programs put before the audio. */
const MAX_HEADER_BYTES = 1_048_576;

/**
 * Converts a WAV file while it is being written, as by a recorder into a pipe, to 16 kHz mono PCM.
 * @throws AsrError `invalid_format`, `empty_audio`, or `audio_too_long` when the header announces more than 15 s
 */
export async function* wavStreamToPcm(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Int16Array, void, void> {
  let converter: PcmConverter | undefined;
  let format: WavFormat | undefined;
  let blockBytes = 1;
  let expectedBytes: number | undefined;
  let takenBytes = 0;
  let held: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces) {
    held = join(held, piece);
    if (converter === undefined || format === undefined) {
      const header = headerOf(held);
      if (header === undefined) continue;
      format = header.format;
      converter = new PcmConverter(format.rateHz);
      blockBytes = bytesPerBlock(format);
      expectedBytes = header.place.bytes;
      if (expectedBytes !== undefined) checkLength(Math.floor(expectedBytes / blockBytes), format.rateHz);
      held = held.subarray(header.place.startByte);
    }
    // Behind the audio other chunks may follow.
    const audio = held.subarray(0, expectedBytes === undefined ? undefined : expectedBytes - takenBytes);
    const whole = audio.subarray(0, audio.length - (audio.length % blockBytes));
    takenBytes += whole.length;
    const complete = expectedBytes !== undefined && takenBytes + blockBytes > expectedBytes;
    held = complete ? held.subarray(0, 0) : held.subarray(whole.length);
    const data = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
    const samples = converter.push(toMono({ ...format, data }));
    if (samples.length > 0) yield samples;
    // Whoever writes it may leave the pipe open.
    if (complete) break;
  }
  if (converter === undefined)
    throw new AsrError('invalid_format', 'the input ended before a WAV header did');
  if (expectedBytes !== undefined && takenBytes + blockBytes <= expectedBytes)
    throw new TruncatedWav(expectedBytes, takenBytes);
  if (takenBytes === 0) throw new AsrError('empty_audio', 'the recording has no audio sample');
  yield converter.flush();
}

function headerOf(start: Uint8Array) {
  if (start.length < 12) return undefined;
  if (!isWav(start)) throw new AsrError('invalid_format', 'the input is not a WAV file');
  const { format, place } = findChunks(start);
  if (place !== undefined && format !== undefined) return { format, place };
  if (place !== undefined)
    throw new AsrError('invalid_format', 'the WAV file has no fmt chunk before its data');
  if (start.length > MAX_HEADER_BYTES)
    throw new AsrError('invalid_format', 'no data chunk in the first MiB of the WAV file');
  return undefined;
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
