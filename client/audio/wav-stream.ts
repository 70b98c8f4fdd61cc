import { checkWhole, readWavStart } from '../../common/audio/wav.ts';
import { bytesPerBlock } from '../../common/audio/wav-format.ts';
import { PcmConverter } from './converter.ts';
import { checkNotEmpty, rethrown, wavToPcm } from './pcm.ts';
import { Downmix, toMono } from './samples.ts';

/**
 * Converts a WAV file of any length as it comes, as from a recorder that writes into a pipe, to 16 kHz mono PCM.
 * @param fileBytes its length, if that is known: then a file that is cut off is refused at its start
 * @throws AsrError `invalid_format` or `empty_audio`
 */
export async function* wavStreamToPcm(
  pieces: AsyncIterable<Uint8Array>,
  fileBytes?: number,
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
      const { bytes, startByte } = start;
      if (fileBytes !== undefined) rethrown(() => checkWhole(bytes, fileBytes - startByte));
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
    yield wavToPcm(held, checkNotEmpty);
    return;
  }
  const { bytes } = start;
  if (!isComplete) rethrown(() => checkWhole(bytes, takenBytes + held.length));
  checkNotEmpty(takenBytes);
  yield converter.flush();
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
