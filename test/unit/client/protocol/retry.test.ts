import { expect, test, vi } from 'vitest';
import { AsrError, type AsrErrorCode } from '../../../../client/node.ts';
import { type RetryOptions, withRetry } from '../../../../client/protocol/retry.ts';

/** @returns the waits until it gave up */
async function waitsOf(
  failed: AsrErrorCode | AsrError,
  options: RetryOptions = {},
  random = 0,
): Promise<number[]> {
  vi.useFakeTimers();
  const chance = vi.spyOn(Math, 'random').mockReturnValue(random);
  try {
    const seen: number[] = [];
    const error = typeof failed === 'string' ? new AsrError(failed, 'not now') : failed;
    const refused = () => Promise.reject(error);
    const onRetry = ({ delayMs }: { delayMs: number }) => seen.push(delayMs);
    const ended = expect(withRetry(refused, { ...options, onRetry })).rejects.toThrow('not now');
    await vi.runAllTimersAsync();
    await ended;
    return seen;
  } finally {
    chance.mockRestore();
    vi.useRealTimers();
  }
}

const DOUBLED = [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000];
// A quarter is random: who was refused together does not come back together.
const EARLIEST = [188, 375, 750, 1_500, 3_000, 3_000, 3_000];

test.each<[AsrErrorCode, RetryOptions, number, number[]]>([
  ['not_ready', {}, 0, DOUBLED],
  ['network', {}, 1, EARLIEST],
  ['not_ready', { attempts: 3 }, 0, DOUBLED.slice(0, 2)],
  // After busy each wait is as long as the first, whoever waits (issue of a batch that locked others out for 22 s).
  ['busy', { patienceMs: 5_000 }, 0, [1_000, 1_000, 1_000, 1_000, 1_000]],
  ['busy', { patienceMs: 5_000 }, 1, [1_400, 1_400, 1_400]],
  ['busy', { attempts: 3 }, 0, [1_000, 1_000]],
  ['busy', { attempts: 3, patienceMs: 1_500 }, 0, [1_000]],
])('after %s with %j, random part %d', async (code, options, random, waits) => {
  expect(await waitsOf(code, options, random)).toEqual(waits);
});

test('after busy it waits what Retry-After asks for', async () => {
  const error = new AsrError('busy', 'not now', { retryAfterMs: 2_000 });
  expect(await waitsOf(error, { attempts: 3 }, 1)).toEqual([2_400, 2_400]);
});

test('unless told otherwise it goes on for two minutes after busy', async () => {
  expect(await waitsOf('busy')).toHaveLength(120);
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
