import { expect, test } from 'vitest';
import { readAhead } from '../../../../client/cli/read-ahead.ts';
import { readRecordingInput } from '../../../../client/cli/recording.ts';
import { Deferred } from '../../../../common/time/deferred.ts';
import { wavFile } from '../../../support/audio/wav.ts';

const { signal } = new AbortController();

async function* inPieces(file: Buffer, pieceBytes: number): AsyncGenerator<Buffer, void, void> {
  for (let at = 0; at < file.length; at += pieceBytes) yield file.subarray(at, at + pieceBytes);
}

test('a WAV whose first bytes come one by one is sent as it comes', async () => {
  const live = await readRecordingInput(inPieces(wavFile(Buffer.alloc(3_200, 1)), 1), true, signal);
  const samples: number[] = [];
  for await (const piece of live.audio) samples.push(...piece);
  expect(samples).toEqual(Array.from({ length: 1_600 }, () => 0x0101));
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
