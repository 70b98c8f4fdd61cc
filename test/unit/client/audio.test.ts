import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { PcmConverter } from '../../../api/client/audio/converter.ts';
import { toPcm } from '../../../api/client/audio/pcm.ts';
import { HELP } from '../../../api/client/cli/help.ts';
import { chunk, riff, wavFile } from '../../support/wav.ts';
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

const FORMS = [
  {
    name: '8-bit',
    formatCode: 1,
    bits: 8,
    pack: (to: Buffer, v: number, at: number) => to.writeUInt8(Math.round(v * 127) + 128, at),
    tolerance: 0.012,
  },
  {
    name: '16-bit',
    formatCode: 1,
    bits: 16,
    pack: (to: Buffer, v: number, at: number) => to.writeInt16LE(Math.round(v * 32767), at),
    tolerance: 1e-4,
  },
  {
    name: '24-bit',
    formatCode: 1,
    bits: 24,
    pack: (to: Buffer, v: number, at: number) => to.writeIntLE(Math.round(v * 8388607), at, 3),
    tolerance: 1e-4,
  },
  {
    name: '32-bit',
    formatCode: 1,
    bits: 32,
    pack: (to: Buffer, v: number, at: number) => to.writeInt32LE(Math.round(v * 2147483647), at),
    tolerance: 1e-4,
  },
  {
    name: '32-bit float',
    formatCode: 3,
    bits: 32,
    pack: (to: Buffer, v: number, at: number) => to.writeFloatLE(v, at),
    tolerance: 1e-4,
  },
  {
    name: '64-bit float',
    formatCode: 3,
    bits: 64,
    pack: (to: Buffer, v: number, at: number) => to.writeDoubleLE(v, at),
    tolerance: 1e-4,
  },
];

test.for(FORMS)('$name samples keep their values', async ({ formatCode, bits, pack: write, tolerance }) => {
  const samples = tone(440, 16_000, 0.1);
  const pcm = await toPcm(wavFile(pack(samples, bits / 8, write), { formatCode, bits }));
  expect(pcm.length).toBe(samples.length);
  for (const [n, sample] of samples.entries())
    expect(Math.abs((pcm[n] ?? 0) / 32_768 - sample)).toBeLessThan(tolerance);
});

// Values of ITU-T G.711 in 16 bits.
test.for([
  {
    name: 'A-law',
    formatCode: 6,
    pairs: [
      [0xd5, 8],
      [0x55, -8],
      [0xaa, 32_256],
      [0x2a, -32_256],
      [0x80, 5_504],
      [0xc5, 264],
    ],
  },
  {
    name: 'μ-law',
    formatCode: 7,
    pairs: [
      [0xff, 0],
      [0x80, 32_124],
      [0x00, -32_124],
      [0xfe, 8],
      [0x7e, -8],
      [0xef, 132],
    ],
  },
])('$name bytes become the values of G.711', async ({ formatCode, pairs }) => {
  const bytes = Buffer.from(pairs.map(([byte]) => byte ?? 0));
  expect([...(await toPcm(wavFile(bytes, { formatCode, bits: 8 })))]).toEqual(
    pairs.map(([, value]) => value),
  );
});

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

test('channels are averaged, loud floats are limited, broken ones are silence', async () => {
  const values = [0.5, -0.25, 3, 3, -3, -3, Number.NaN, 0, Infinity, 0];
  const data = pack(values, 4, (to, value, at) => to.writeFloatLE(value, at));
  const pcm = await toPcm(wavFile(data, { formatCode: 3, bits: 32, channels: 2 }));
  expect([...pcm]).toEqual([4_096, 32_767, -32_768, 0, 0]);
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

const samples16 = (count: number) => Buffer.alloc(2 * count, 1);

test.for([
  {
    name: 'chunks before and behind, with padding',
    file: wavFile(samples16(5), {
      before: [chunk('LIST', Buffer.from('odd'))],
      after: [chunk('id3 ', Buffer.from('xyz'))],
    }),
  },
  {
    name: 'a second data chunk behind the first',
    file: wavFile(samples16(5), { after: [chunk('data', Buffer.alloc(4))] }),
  },
  { name: 'a size left open by a pipe', file: wavFile(samples16(5), { dataBytes: 0xffff_ffff }) },
  { name: 'a size left at zero', file: wavFile(samples16(5), { dataBytes: 0 }) },
  { name: "the file's size in place of the sound's", file: wavFile(samples16(5), { dataBytes: 54 }) },
  { name: 'a size left open by SoX', file: wavFile(samples16(5), { dataBytes: 0x7fff_f000 }) },
  {
    name: 'the format behind the data',
    file: riff([chunk('data', samples16(5)), wavFile(samples16(5)).subarray(12, 36)]),
  },
  { name: 'a part of a sample at the end', file: wavFile(Buffer.alloc(11, 1)) },
])('WAV with $name', async ({ file }) => {
  expect([...(await toPcm(file))]).toEqual([257, 257, 257, 257, 257]);
});

test('WAVE_FORMAT_EXTENSIBLE with 24 bits in 32', async () => {
  const format = Buffer.alloc(40);
  format.writeUInt16LE(0xfffe, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(16_000, 4);
  format.writeUInt16LE(4, 12);
  format.writeUInt16LE(32, 14);
  format.writeUInt16LE(24, 18);
  format.writeUInt16LE(1, 24);
  const data = Buffer.from([0, 0, 0, 0x40, 0, 0, 0, 0xc0]);
  expect([...(await toPcm(riff([chunk('fmt ', format), chunk('data', data)])))]).toEqual([16_384, -16_384]);
});

test.for([
  { name: 'not a WAV', file: Buffer.from('ID3 something'), code: 'invalid_format', says: 'not a WAV file' },
  {
    name: 'truncated',
    file: wavFile(samples16(5), { dataBytes: 100 }),
    code: 'invalid_format',
    says: '100 bytes of audio announced, 10 there',
  },
  {
    name: 'ADPCM',
    file: wavFile(samples16(5), { formatCode: 2, bits: 4 }),
    code: 'invalid_format',
    says: 'format code 2 with 4 bits',
  },
  { name: 'no data', file: riff([]), code: 'invalid_format', says: 'no whole fmt chunk' },
  {
    name: '4 kHz',
    file: wavFile(samples16(5), { sampleRateHz: 4_000 }),
    code: 'invalid_format',
    says: '4000 Hz',
  },
  {
    name: 'no channel',
    file: wavFile(samples16(5), { channels: 0 }),
    code: 'invalid_format',
    says: 'it has 0 channels',
  },
  {
    name: 'a format that is too short',
    file: riff([chunk('fmt ', Buffer.alloc(14, 1)), chunk('data', samples16(5))]),
    code: 'invalid_format',
    says: 'the fmt chunk has 14 bytes, too few',
  },
  {
    name: 'an extensible format without its extension',
    file: wavFile(samples16(5), { formatCode: 0xfffe }),
    code: 'invalid_format',
    says: 'the extensible fmt chunk has 16 bytes, too few',
  },
  { name: 'empty', file: wavFile(Buffer.alloc(0)), code: 'empty_audio', says: 'no audio sample' },
])('$name: a clear error', async ({ file, code, says }) => {
  await expect(toPcm(file)).rejects.toMatchObject({
    name: 'AsrError',
    code,
    message: expect.stringContaining(says),
  });
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
