import { expect, test } from 'vitest';
import { wavStreamToPcm } from '../../../../client/audio/wav-stream.ts';
import { wavFile } from '../../../support/audio/wav.ts';

test('where the announced audio ends within a sample, nothing behind it is waited for', async () => {
  async function* open(): AsyncGenerator<Buffer> {
    yield wavFile(Buffer.alloc(11, 1));
    throw new Error('the input was read on');
  }
  const samples: number[] = [];
  for await (const piece of wavStreamToPcm(open())) samples.push(...piece);
  expect(samples).toEqual([257, 257, 257, 257, 257]);
});
