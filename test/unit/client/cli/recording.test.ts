import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { readAhead } from '../../../../client/cli/read-ahead.ts';
import { readRecordingFile, readRecordingInput } from '../../../../client/cli/recording.ts';
import { Deferred } from '../../../../client/protocol/waiting.ts';
import { testFolder } from '../../../support/folders.ts';
import { wavFile } from '../../../support/wav.ts';

const { signal } = new AbortController();

async function* inPieces(file: Buffer, pieceBytes: number): AsyncGenerator<Buffer, void, void> {
  for (let at = 0; at < file.length; at += pieceBytes) yield file.subarray(at, at + pieceBytes);
}

test('an input to be sent as it comes that is no WAV is not copied again with every piece', async () => {
  const breaks = new Error('the input breaks');
  async function* input(): AsyncGenerator<Buffer, void, void> {
    yield* inPieces(Buffer.alloc(100_000, 'ID3'), 100);
    // Instead of its end, after which ffmpeg would be asked.
    throw breaks;
  }
  const concat = vi.spyOn(Buffer, 'concat');
  try {
    await expect(readRecordingInput(input(), true, signal)).rejects.toBe(breaks);
    const copiedBytes = concat.mock.results.reduce((sum, { value }) => sum + value.length, 0);
    expect(copiedBytes).toBeLessThanOrEqual(100_000);
  } finally {
    concat.mockRestore();
  }
});

test('a WAV whose first bytes come one by one is sent as it comes', async () => {
  const recording = await readRecordingInput(inPieces(wavFile(Buffer.alloc(3_200, 1)), 1), true, signal);
  if (recording.kind !== 'live') throw new Error('it was read to its end first');
  const samples: number[] = [];
  for await (const piece of recording.samples) samples.push(...piece);
  expect(samples).toEqual(Array.from({ length: 1_600 }, () => 0x0101));
});

test('a WAV of over 256 MiB is refused before it is in memory, from a file and from standard input', async () => {
  const tooLong = {
    code: 'audio_too_long',
    message: expect.stringContaining('268 MB, more than a recording'),
  };
  const path = join(testFolder(), 'film.wav');
  writeFileSync(path, wavFile(Buffer.alloc(2)));
  // With a hole, which takes no place on the disk.
  truncateSync(path, 268_435_457);
  await expect(readRecordingFile(path, signal)).rejects.toMatchObject(tooLong);
  async function* endless(): AsyncGenerator<Buffer, void, void> {
    const piece = Buffer.alloc(1_048_576, 'RIFF');
    for (let n = 0; n < 300; n += 1) yield piece;
  }
  await expect(readRecordingInput(endless(), false, signal)).rejects.toMatchObject({
    ...tooLong,
    message: expect.stringContaining('269 MB, more than a recording'),
  });
});

test('whoever leaves what is read ahead does not wait for a source that says nothing more', async () => {
  const asked = new Deferred<void>();
  async function* silent(): AsyncGenerator<Int16Array> {
    yield new Int16Array(1);
    asked.resolve();
    await new Promise(() => {});
  }
  for await (const samples of readAhead(silent())) {
    expect(samples).toHaveLength(1);
    await asked.promise;
    break;
  }
});
