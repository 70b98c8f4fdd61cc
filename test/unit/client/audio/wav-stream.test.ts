import { expect, test } from 'vitest';
import { wavStreamToPcm } from '../../../../client/audio/wav-stream.ts';
import { chunk, riff, wavFile } from '../../../support/wav.ts';

test('where the announced audio ends within a sample, nothing behind it is waited for', async () => {
  async function* open(): AsyncGenerator<Buffer> {
    yield wavFile(Buffer.alloc(11, 1));
    throw new Error('the input was read on');
  }
  const samples: number[] = [];
  for await (const piece of wavStreamToPcm(open())) samples.push(...piece);
  expect(samples).toEqual([257, 257, 257, 257, 257]);
});

test('an input that goes on without audio is not kept for ever', async () => {
  async function* endless(): AsyncGenerator<Buffer> {
    yield riff([chunk('JUNK', Buffer.alloc(0))]);
    const next = chunk('JUNK', Buffer.alloc(100_000));
    for (let bytes = 0; bytes < 2_000_000; bytes += next.length) yield next;
  }
  const reading = wavStreamToPcm(endless()).next();
  await expect(reading).rejects.toThrow('no audio in the first MiB');
});
