import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joined } from '../../../../client/audio/frames.ts';
import { type AudioPiece, PauseCutter } from '../../../../client/audio/pause-cutter.ts';
import { noise, spoken } from '../../../support/audio/spoken.ts';

const samplesOf = (seconds: number): number => Math.round(seconds * 16_000);

function cut(audio: Int16Array, { live = false, blocks = [audio.length] } = {}): AudioPiece[] {
  const cutter = new PauseCutter({ live });
  const pieces: AudioPiece[] = [];
  for (let at = 0, n = 0; at < audio.length; n += 1) {
    const block = Math.max(1, blocks[n % blocks.length] ?? 1);
    pieces.push(...cutter.push(audio.subarray(at, at + block)));
    at += block;
  }
  return [...pieces, ...cutter.flush()];
}
const ends = (pieces: readonly AudioPiece[]): number[] =>
  pieces.map(({ startSample, samples }) => (startSample + samples.length) / 16_000);

const segment = fc.record({
  seconds: fc.double({ min: 0.001, max: 12, noNaN: true }),
  amplitude: fc.constantFrom(0, 1, 40, 900, 8_000, 32_767),
  offset: fc.constantFrom(0, 0, 3_000),
});

test.for([false, true])(
  'live %s: no sample is lost or doubled, whatever comes, in whatever blocks',
  (live) => {
    const blocks = fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 12 }), blocks, (segments, sizes) => {
        const audio = joined(
          segments.map(({ seconds, amplitude, offset }, n) =>
            noise(seconds, amplitude, n + 1).map((sample) => Math.min(32_767, sample + offset)),
          ),
        );
        const pieces = cut(audio, { live, blocks: sizes });
        expect(
          Buffer.from(joined(pieces.map(({ samples }) => samples)).buffer).equals(Buffer.from(audio.buffer)),
        ).toBe(true);
        let next = 0;
        for (const { samples, startSample, speechStartSample, speechEndSample } of pieces) {
          expect(startSample).toBe(next);
          next += samples.length;
          expect(samples.length).toBeGreaterThan(0);
          const isWhole = !live && pieces.length === 1;
          expect(samples.length).toBeLessThanOrEqual(samplesOf(isWhole ? 15 : 14.8));
          expect(speechStartSample).toBeGreaterThanOrEqual(startSample);
          expect(speechEndSample).toBeGreaterThan(speechStartSample);
          expect(speechEndSample).toBeLessThanOrEqual(next);
        }
        expect(ends(cut(audio, { live }))).toEqual(ends(pieces));
      }),
      { numRuns: 25 },
    );
  },
);

test('what the service takes whole is not cut; a little more is', () => {
  const audio = joined([spoken(7), noise(1), spoken(8)]);
  expect(ends(cut(audio.subarray(0, samplesOf(15))))).toEqual([15]);
  expect(ends(cut(audio))).toEqual([7.5, 16]);
});

test.for([
  { name: 'in a quiet room', parts: [spoken(6), noise(0.4), spoken(3), noise(0.6), spoken(8)], at: 9.7 },
  {
    name: 'in digital silence',
    parts: [spoken(6), noise(0.4, 0), spoken(3), noise(0.6, 0), spoken(8)],
    at: 9.7,
  },
  {
    name: 'in a loud room',
    parts: [spoken(6), noise(0.4, 2_000), spoken(3), noise(0.6, 2_000), spoken(8)],
    at: 9.7,
  },
  {
    name: 'beside digital silence, in a room',
    parts: [noise(3, 0), spoken(3), noise(0.4), spoken(3), noise(0.6), spoken(8)],
    at: 9.7,
  },
  { name: 'not one before 4 s', parts: [spoken(2), noise(1), spoken(5), noise(0.3), spoken(9)], at: 8.15 },
  {
    name: 'the later of two that are alike',
    parts: [spoken(5), noise(0.4), spoken(4), noise(0.4), spoken(8)],
    at: 9.6,
  },
])('the middle of the longest pause, $name', ({ parts, at }) => {
  expect(ends(cut(joined(parts)))[0]).toBeCloseTo(at, 2);
});

test('without a pause of 0.2 s: the quietest 0.1 s of the last 5 s', () => {
  const parts = [spoken(7), noise(0.15), spoken(5), noise(0.12), spoken(6)];
  expect(ends(cut(joined(parts)))[0]).toBeCloseTo(12.21, 1);
});

test('live: after 8 s a pause of 0.4 s ends a piece, after 12 s one of 0.2 s, and none ends it at 14.8 s', () => {
  const early = [spoken(5), noise(0.5), spoken(4), noise(2), spoken(3)];
  expect(ends(cut(joined(early), { live: true }))[0]).toBeCloseTo(9.9, 2);
  const short = [spoken(9), noise(0.3), spoken(3.2), noise(0.3), spoken(3)];
  expect(ends(cut(joined(short), { live: true }))[0]).toBeCloseTo(12.7, 2);
  const none = [spoken(8), noise(0.15), spoken(8)];
  expect(ends(cut(joined([...none, spoken(20)]), { live: true }))[0]).toBeLessThanOrEqual(14.8);
});

test('where the speech in a piece begins and ends, with 0.1 s around it', () => {
  const [piece] = cut(joined([noise(2), spoken(3), noise(4)]));
  expect((piece?.speechStartSample ?? 0) / 16_000).toBeCloseTo(1.9, 2);
  expect((piece?.speechEndSample ?? 0) / 16_000).toBeCloseTo(5.1, 2);
});
