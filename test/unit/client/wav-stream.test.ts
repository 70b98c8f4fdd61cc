import { expect, test } from 'vitest';
import { toPcm } from '../../../api/client/audio/pcm.ts';
import { wavStreamToPcm } from '../../../api/client/audio/wav-stream.ts';
import { chunk, riff, wavFile } from '../../support/wav.ts';
import { pack, tone } from './tones.ts';

async function* cut(file: Buffer, bytes: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < file.length; start += bytes) yield file.subarray(start, start + bytes);
}

async function streamed(file: Buffer, bytes: number): Promise<number[]> {
  const samples: number[] = [];
  for await (const piece of wavStreamToPcm(cut(file, bytes))) samples.push(...piece);
  return samples;
}

test.for([1, 7, 1_000, 100_000])(
  'a WAV that comes in pieces of %i bytes gives the same samples',
  async (bytes) => {
    const stereo = pack(
      tone(300, 44_100, 0.1).flatMap((value) => [value, value / 2]),
      3,
      (to, value, at) => to.writeIntLE(Math.round(value * 8_388_607), at, 3),
    );
    const options = { bits: 24, channels: 2, sampleRateHz: 44_100 };
    const file = wavFile(stereo, { ...options, after: [chunk('LIST', Buffer.alloc(50, 9))] });
    const whole = [...(await toPcm(file))];
    expect(await streamed(file, bytes)).toEqual(whole);
    expect(await streamed(wavFile(stereo, { ...options, dataBytes: 0xffff_ffff }), bytes)).toEqual(whole);
  },
);

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
