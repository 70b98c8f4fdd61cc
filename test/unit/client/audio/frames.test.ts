import { expect, test } from 'vitest';
import { FrameCutter } from '../../../../client/audio/frames.ts';
import { wavOf } from '../../../../client/audio/wav.ts';
import { readPcm16 } from '../../../../common/audio/pcm16.ts';
import { wavFile } from '../../../support/audio/wav.ts';

const samples = Int16Array.from({ length: 4_000 }, (_, n) => ((n * 7_919) % 65_536) - 32_768);

/** To be compared by `equals`: a difference that `toEqual` finds is printed byte by byte, 12,000 lines. */
const bytes = ({ buffer }: Int16Array): Buffer => Buffer.from(buffer);

test.each([1, 43, 1_600, 1_601, 9_999])('pieces of %i samples become frames and a shorter tail', (length) => {
  const cutter = new FrameCutter();
  const frames: Int16Array[] = [];
  for (let start = 0; start < samples.length; start += length) {
    const piece = samples.slice(start, start + length);
    frames.push(...cutter.push(piece));
    // The caller may use its buffer again.
    piece.fill(0);
  }
  frames.push(...cutter.flush());
  expect(frames.map((frame) => frame.byteLength)).toEqual([3_200, 3_200, 1_600]);
  const joined = Int16Array.from(frames.flatMap((frame) => [...frame]));
  expect(bytes(joined).equals(bytes(samples))).toBe(true);
});

test('samples become a WAV that the server, and every other program, reads as they are', () => {
  const file = Buffer.from(wavOf(samples));
  expect(readPcm16(file).equals(bytes(samples))).toBe(true);
  expect(file.equals(wavFile(bytes(samples)))).toBe(true);
});
