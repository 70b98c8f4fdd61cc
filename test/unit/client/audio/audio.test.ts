import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { PcmConverter } from '../../../../client/audio/converter.ts';
import { toPcm } from '../../../../client/audio/pcm.ts';
import { wavStreamToPcm } from '../../../../client/audio/wav-stream.ts';
import { HELP } from '../../../../client/cli/help.ts';
import { wavFile } from '../../../support/audio/wav.ts';

test('a file that is right already keeps every bit', async () => {
  const file = await readFile(new URL('../../../fixtures/h04.wav', import.meta.url));
  const pcm = await toPcm(file);
  expect(Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength).equals(file.subarray(44))).toBe(true);
});

test('up to as many channels as the help says are read', async () => {
  const most = Number(/up to (\d+) channels/.exec(HELP)?.[1]);
  const ofChannels = (channels: number) => wavFile(Buffer.alloc(2 * channels * 160), { channels });
  await expect(toPcm(ofChannels(most))).resolves.toHaveLength(160);
  await expect(toPcm(ofChannels(most + 1))).rejects.toThrow(`${most + 1} channels`);
});

test.for([
  { rateHz: 16_000, frames: 240_000 },
  { rateHz: 44_100, frames: 661_500 },
  { rateHz: 8_000, frames: 120_000 },
])(
  '15 s at $rateHz Hz are taken whole, one sample more is refused',
  async ({ rateHz: sampleRateHz, frames }) => {
    const file = (count: number) => wavFile(Buffer.alloc(count), { bits: 16, sampleRateHz });
    expect((await toPcm(file(2 * frames))).length).toBe(240_000);
    // Nor does a part of a sample behind them make them too long.
    expect((await toPcm(file(2 * frames + 1))).length).toBe(240_000);
    await expect(toPcm(file(2 * frames + 2))).rejects.toMatchObject({
      code: 'audio_too_long',
      message: expect.stringContaining('is 15.001 s long'),
    });
  },
);

test('sample rates are whole numbers from 8,000 to 384,000, both included', () => {
  for (const rateHz of [8_000, 384_000]) expect(() => new PcmConverter(rateHz)).not.toThrow();
  for (const rateHz of [-1, 0, 7_999, 384_001, 44_100.5, Number.NaN])
    expect(() => new PcmConverter(rateHz)).toThrow(`a sample rate of ${rateHz} Hz`);
});

describe('the channels', () => {
  const speech = readFileSync(new URL('../../../fixtures/h04.wav', import.meta.url)).subarray(44);
  const samples = new Int16Array(speech.length / 2).map((_, n) => speech.readInt16LE(2 * n));
  /** A file whose channels have the speech, so many times as loud each. */
  function file(...gains: number[]): Buffer {
    const values = Array.from(samples, (sample) => gains.map((gain) => Math.round(gain * sample))).flat();
    return wavFile(Buffer.from(Int16Array.from(values).buffer), { channels: gains.length });
  }
  const scaled = (gain: number) => samples.map((sample) => Math.round(gain * sample));
  async function* inPieces(whole: Buffer): AsyncGenerator<Buffer> {
    for (let start = 0; start < whole.length; start += 10_001) yield whole.subarray(start, start + 10_001);
  }

  test.each([
    ['alike become their mean', [1, 1], 1],
    ['of which one is silent become their mean', [0, 1], 0.5],
    ['that cancel each other become one of them', [1, -1], 1],
    ['that nearly cancel each other become the louder one', [-0.9, 1], 1],
    ['of which one in 16 is used become that one', [...Array<number>(15).fill(0), 1], 1],
  ])('%s, whole and in pieces', async (_what, gains, gain) => {
    const whole = file(...gains);
    expect(Buffer.from((await toPcm(whole)).buffer).equals(Buffer.from(scaled(gain).buffer))).toBe(true);
    const pieces: number[] = [];
    for await (const piece of wavStreamToPcm(inPieces(whole))) pieces.push(...piece);
    expect(Buffer.from(Int16Array.from(pieces).buffer).equals(Buffer.from(scaled(gain).buffer))).toBe(true);
  });
});
