import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { PcmConverter } from '../../../api/client/audio/converter.ts';
import { toPcm } from '../../../api/client/audio/pcm.ts';
import { HELP } from '../../../api/client/cli/help.ts';
import { wavFile } from '../../support/wav.ts';
import { pack, tone } from './tones.ts';

/** Amplitude of the part of `pcm` that has this frequency, leaving out the filter's settling at both ends. */
function amplitude(pcm: Int16Array, hz: number): number {
  const inner = pcm.subarray(800, pcm.length - 800);
  let real = 0;
  let imaginary = 0;
  for (const [n, sample] of inner.entries()) {
    const angle = (2 * Math.PI * hz * n) / 16_000;
    real += (sample / 32_768) * Math.cos(angle);
    imaginary += (sample / 32_768) * Math.sin(angle);
  }
  return (2 * Math.hypot(real, imaginary)) / inner.length;
}

const power = (pcm: Int16Array): number =>
  pcm.subarray(800, pcm.length - 800).reduce((sum, sample) => sum + (sample / 32_768) ** 2, 0) /
  (pcm.length - 1600);

test('a file that is right already keeps every bit', async () => {
  const file = await readFile(new URL('../../fixtures/h04.wav', import.meta.url));
  const pcm = await toPcm(file);
  expect(Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength).equals(file.subarray(44))).toBe(true);
});

test('up to as many channels as the help says are read', async () => {
  const most = Number(/up to (\d+) channels/.exec(HELP)?.[1]);
  const ofChannels = (channels: number) => wavFile(Buffer.alloc(2 * channels * 160), { channels });
  await expect(toPcm(ofChannels(most))).resolves.toHaveLength(160);
  await expect(toPcm(ofChannels(most + 1))).rejects.toThrow(`${most + 1} channels`);
});

test.for([8_000, 11_025, 22_050, 32_000, 44_100, 48_000, 96_000])(
  '%i Hz: what is below 8 kHz stays, what is above is gone',
  async (sampleRateHz) => {
    const write = (to: Buffer, value: number, at: number) => to.writeFloatLE(value, at);
    const options = { formatCode: 3, bits: 32, sampleRateHz };
    const low = await toPcm(wavFile(pack(tone(1_000, sampleRateHz, 0.5), 4, write), options));
    expect(low.length).toBe(Math.ceil((Math.round(sampleRateHz / 2) * 16_000) / sampleRateHz));
    expect(amplitude(low, 1_000)).toBeCloseTo(0.5, 2);
    expect(power(low)).toBeCloseTo(0.125, 2);
    // To the last, which the resampler holds until it is told that nothing follows.
    expect(low.subarray(-4).some((sample) => Math.abs(sample) > 1_000)).toBe(true);
    if (sampleRateHz < 22_050) return;
    const high = await toPcm(wavFile(pack(tone(10_000, sampleRateHz, 0.5), 4, write), options));
    expect(power(high)).toBeLessThan(0.125e-6);
  },
);

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
