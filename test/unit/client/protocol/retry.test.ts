import { expect, test, vi } from 'vitest';
import { AsrError, type AsrErrorCode } from '../../../../client/node.ts';
import { withRetry } from '../../../../client/protocol/retry.ts';

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

test.each([Number.NaN, 0, 1])(
  'attempts: %d, as from a setting that is missing, is one attempt and not endless ones',
  async (attempts) => {
    const busy = vi.fn(() => Promise.reject(new AsrError('busy', 'taken')));
    await expect(withRetry(busy, { attempts })).rejects.toThrow('taken');
    expect(busy).toHaveBeenCalledOnce();
  },
);

test('of all failures only these are worth another attempt', () => {
  const retryable: Readonly<Record<AsrErrorCode, boolean>> = {
    busy: true,
    not_ready: true,
    unavailable: true,
    network: true,
    invalid_format: false,
    empty_audio: false,
    audio_too_long: false,
    unauthorized: false,
    forbidden: false,
    timeout: false,
    upload_too_large: false,
    inference_failed: false,
    invalid_message: false,
    invalid_sequence: false,
    invalid_frame: false,
    overloaded: false,
    invalid_form: false,
    no_answer: false,
    unexpected_response: false,
  };
  const codes = Object.keys(retryable) as AsrErrorCode[];
  expect(Object.fromEntries(codes.map((code) => [code, new AsrError(code, '').retryable]))).toEqual(
    retryable,
  );
});
