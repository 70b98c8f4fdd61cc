import { checkWhole, MAX_EXCESS_BYTES, readWavStart } from '../../common/audio/wav.ts';
import { bytesPerBlock } from '../../common/audio/wav-format.ts';
import { PcmConverter } from './converter.ts';
import { checkLength, rethrown, toPcm } from './pcm.ts';
import { Downmix, toMono } from './samples.ts';

/**
 * Converts a WAV file while it is being written, as by a recorder into a pipe, to 16 kHz mono PCM.
 * @throws AsrError `invalid_format`, `empty_audio`, or `audio_too_long` if the header announces over 15 s
 */
export async function* wavStreamToPcm(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Int16Array, void, void> {
  let start: ReturnType<typeof readWavStart>;
  let converter: PcmConverter | undefined;
  const downmix = new Downmix();
  let takenBytes = 0;
  let isComplete = false;
  let held: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces) {
    held = join(held, piece);
    if (start === undefined || converter === undefined) {
      start = rethrown(() => readWavStart(held));
      if (start === undefined) continue;
      converter = new PcmConverter(start.rateHz);
      const leastBytes = Math.max(bytesPerBlock(start), (start.bytes ?? 0) - MAX_EXCESS_BYTES);
      checkLength(Math.floor(leastBytes / bytesPerBlock(start)), start.rateHz);
      held = held.subarray(start.startByte);
    }
    const { bytes = Number.POSITIVE_INFINITY } = start;
    // Behind the audio other chunks may follow.
    const audio = held.subarray(0, bytes - takenBytes);
    const whole = audio.subarray(0, audio.length - (audio.length % bytesPerBlock(start)));
    takenBytes += whole.length;
    held = held.subarray(whole.length);
    const samples = converter.push(toMono(start, whole, downmix));
    if (samples.length > 0) yield samples;
    // Whoever writes it may leave the pipe open.
    isComplete = takenBytes + bytesPerBlock(start) > bytes;
    if (isComplete) break;
  }
  if (start === undefined || converter === undefined) {
    yield await toPcm(held);
    return;
  }
  const { bytes } = start;
  if (!isComplete) rethrown(() => checkWhole(bytes, takenBytes + held.length));
  checkLength(takenBytes / bytesPerBlock(start), start.rateHz);
  yield converter.flush();
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
