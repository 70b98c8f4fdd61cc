import { SAMPLE_RATE_HZ } from '../../common/audio/limits.ts';
import { CHUNK_HEAD_BYTES, readWavStart, walkBehind } from '../../common/audio/wav.ts';
import { type AudioInput, bytesOf, checkNotEmpty, rethrown, wavToPcm } from './pcm.ts';
import { wavStreamToPcm } from './wav-stream.ts';

const BLOCK_SAMPLES = SAMPLE_RATE_HZ;
/** A file of this size is checked as a whole before anything is sent. */
const SLICE_BYTES = 1 << 20;

/** A file that is read in slices. */
export interface FileSource {
  readonly bytes: number;
  /** @returns the bytes from `fromByte` on, `toByte` not among them */
  read(fromByte: number, toByte: number): Promise<Uint8Array>;
}

/**
 * Hands out audio of any length in blocks of at most 1 s, so that it never lies in memory a second time.
 * @throws AsrError while it is read: `invalid_format`, `empty_audio`
 */
export async function* blocksOf(
  audio: AudioInput | AsyncIterable<Int16Array>,
): AsyncGenerator<Int16Array, void, void> {
  if (audio instanceof Int16Array) yield* slicesOf(audio);
  else if (audio instanceof Blob) {
    const read = async (from: number, to: number) =>
      new Uint8Array(await audio.slice(from, to).arrayBuffer());
    yield* wavBlocks({ bytes: audio.size, read });
  } else if (Symbol.asyncIterator in audio) for await (const samples of audio) yield* slicesOf(samples);
  else {
    const file = bytesOf(audio);
    yield* wavBlocks({ bytes: file.length, read: async (from, to) => file.subarray(from, to) });
  }
}

/** `blocksOf` for a WAV file. @throws AsrError as that does; whatever `read` throws */
export async function* wavBlocks(file: FileSource): AsyncGenerator<Int16Array, void, void> {
  const { bytes, read } = file;
  const start = await read(0, Math.min(bytes, SLICE_BYTES));
  if (bytes === start.length) yield* slicesOf(wavToPcm(start, checkNotEmpty));
  else {
    await checkBehind(file, start);
    for await (const samples of wavStreamToPcm(inSlices(file), bytes)) yield* slicesOf(samples);
  }
}

/** Before anything is sent: the text of a part would look like the text of the whole. */
async function checkBehind({ bytes, read }: FileSource, start: Uint8Array): Promise<void> {
  const wav = rethrown(() => readWavStart(start));
  const steps = walkBehind(wav ?? { startByte: 0, bytes: undefined }, bytes);
  let step = steps.next();
  while (!step.done) {
    const head = await read(step.value, Math.min(bytes, step.value + CHUNK_HEAD_BYTES));
    step = rethrown(() => steps.next(head));
  }
}

async function* inSlices({ bytes, read }: FileSource): AsyncGenerator<Uint8Array, void, void> {
  for (let from = 0; from < bytes; from += SLICE_BYTES)
    yield await read(from, Math.min(bytes, from + SLICE_BYTES));
}

function* slicesOf(samples: Int16Array): Generator<Int16Array, void, void> {
  for (let from = 0; from < samples.length; from += BLOCK_SAMPLES)
    yield samples.subarray(from, from + BLOCK_SAMPLES);
}
