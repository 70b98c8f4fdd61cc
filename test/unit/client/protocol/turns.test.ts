import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AsrError } from '../../../../client/protocol/errors.ts';
import { Turns } from '../../../../client/protocol/turns.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** @returns when each of some recordings of 2 s begins, with these pauses in front of them */
async function beginnings(gapMs: number, pausesMs: readonly number[]): Promise<number[]> {
  const turns = new Turns(gapMs);
  const begun: number[] = [];
  const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const all = (async () => {
    for (const pauseMs of pausesMs) {
      await wait(pauseMs);
      await turns.next(() => {
        begun.push(performance.now());
        return wait(2_000);
      });
    }
  })();
  const startedAtMs = performance.now();
  await vi.runAllTimersAsync();
  await all;
  return begun.map((at) => Math.round(at - startedAtMs));
}

test.each([
  ['a gap behind each 5 s that were used', 1_500, [0, 0, 0, 0, 0], [0, 2_000, 4_000, 7_500, 9_500]],
  ['a pause of its own is a gap', 1_500, [0, 0, 1_500, 0, 0], [0, 2_000, 5_500, 7_500, 9_500]],
  ['a pause that is too short is a part of one', 1_500, [0, 0, 0, 500], [0, 2_000, 4_000, 7_500]],
  ['no gap', 0, [0, 0, 0, 0], [0, 2_000, 4_000, 6_000]],
])('%s', async (_what, gapMs, pausesMs, expected) => {
  expect(await beginnings(gapMs, pausesMs)).toEqual(expected);
});

test('who has had a turn and is refused comes back later than others', async () => {
  vi.spyOn(Math, 'random').mockReturnValueOnce(0.5);
  const turns = new Turns(1_500);
  const busy = () => Promise.reject(new AsrError('busy', 'taken'));
  const startedAtMs = performance.now();
  await expect(turns.next(busy)).rejects.toThrow('taken');
  expect(performance.now() - startedAtMs).toBe(0);
  await turns.next(() => Promise.resolve());
  const refused = expect(turns.next(busy)).rejects.toThrow('taken');
  await vi.runAllTimersAsync();
  await refused;
  expect(performance.now() - startedAtMs).toBe(2_250);
});

test('an abort ends the wait in a gap', async () => {
  const turns = new Turns(1_500);
  await turns.next(async () => void vi.advanceTimersByTime(5_000));
  const stop = new AbortController();
  const waiting = expect(turns.next(() => Promise.resolve(), stop.signal)).rejects.toThrow('enough');
  stop.abort(new Error('enough'));
  await waiting;
});
