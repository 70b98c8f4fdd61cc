import { expect, test, vi } from 'vitest';
import { AsrError } from '../../../api/client/node.ts';
import { withRetry } from '../../../api/client/retry.ts';

test.each([
  [0, [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]],
  // A quarter is random: who was refused together does not come back together.
  [1, [188, 375, 750, 1_500, 3_000, 3_000, 3_000]],
])('unless told otherwise there are 8 attempts in about 15 s (random part: %d)', async (random, waitsMs) => {
  vi.useFakeTimers();
  const chance = vi.spyOn(Math, 'random').mockReturnValue(random);
  try {
    const seen: number[] = [];
    const busy = () => Promise.reject(new AsrError('busy', 'taken'));
    const ended = expect(withRetry(busy, { onRetry: ({ delayMs }) => seen.push(delayMs) })).rejects.toThrow();
    await vi.runAllTimersAsync();
    await ended;
    expect(seen).toEqual(waitsMs);
  } finally {
    chance.mockRestore();
    vi.useRealTimers();
  }
});

test('an abort between two attempts leaves no timer, which would hold the program for the rest of the wait', async () => {
  vi.useFakeTimers();
  try {
    const stop = new AbortController();
    const busy = () => Promise.reject(new AsrError('busy', 'taken'));
    const ended = expect(withRetry(busy, {}, stop.signal)).rejects.toThrow('enough');
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(1);
    stop.abort(new Error('enough'));
    await ended;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
