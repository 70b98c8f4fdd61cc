import { expect, test } from 'vitest';
import { audioMs, BYTES_PER_SAMPLE, MAX_RECORDING_SAMPLES } from '../../../../common/audio/limits.ts';

test('every length of a recording is rounded to the nearest millisecond, half of one upwards', () => {
  const wrong: number[] = [];
  for (let samples = 0; samples <= MAX_RECORDING_SAMPLES; samples++) {
    // In whole numbers: 16 samples are a millisecond.
    const ms = Math.floor((samples + 8) / 16);
    if (audioMs(samples * BYTES_PER_SAMPLE) !== ms) wrong.push(samples);
  }
  expect(wrong).toEqual([]);
});
