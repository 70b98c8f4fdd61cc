import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Waiting, withRetries } from '../../../api/page/backoff.ts';
import { Failure } from '../../../api/page/failures.ts';
import { type Pressable, PressGesture } from '../../../api/page/press-gesture.ts';
import { splitAtChange } from '../../../api/page/text-change.ts';

describe('the changing end of a text', () => {
  it.each([
    ['', '今天', '', '今天'],
    ['今天', '今天天气', '今天', '天气'],
    ['今天添', '今天天气', '今天', '天气'],
    ['今天天气', '今天', '今天', ''],
    ['昨天', '今天', '', '今天'],
    // Two characters that share their first half in UTF-16 are not cut in two.
    ['𠮷', '𠮶', '', '𠮶'],
  ])('%s → %s', (before, now, kept, changed) => {
    expect(splitAtChange(before, now)).toEqual([kept, changed]);
  });
});

describe('the record button', () => {
  function button() {
    const log: string[] = [];
    const shown: { state: ReturnType<Pressable['state']> } = { state: 'idle' };
    const gesture = new PressGesture({
      state: () => shown.state,
      start: () => {
        log.push('start');
        shown.state = 'recording';
      },
      stop: () => {
        log.push('stop');
        shown.state = 'idle';
      },
    });
    return { log, gesture, target: shown };
  }

  it('toggles with two short presses', () => {
    const { log, gesture } = button();
    gesture.down(1_000);
    gesture.up(1_499);
    // Of another button of the mouse.
    gesture.up(3_000);
    expect(log).toEqual(['start']);
    gesture.down(5_000);
    expect(log).toEqual(['start', 'stop']);
    gesture.up(9_000);
    expect(log).toEqual(['start', 'stop']);
  });

  it('ends with the release after a hold', () => {
    const { log, gesture } = button();
    gesture.down(1_000);
    gesture.up(1_500);
    expect(log).toEqual(['start', 'stop']);
  });

  it('goes on when the hand had to let go to allow the microphone', () => {
    const { log, gesture, target } = button();
    gesture.down(1_000);
    target.state = 'opening';
    gesture.up(4_000);
    expect(log).toEqual(['start']);
  });

  it('does nothing while a result is awaited', () => {
    const { log, gesture, target } = button();
    target.state = 'recognizing';
    gesture.down(1_000);
    gesture.up(2_000);
    gesture.tap();
    expect(log).toEqual([]);
  });

  it('toggles by a screen reader’s activation too, and a release without a press ends nothing', () => {
    const { log, gesture } = button();
    gesture.tap();
    gesture.up(10_000);
    expect(log).toEqual(['start']);
    gesture.tap();
    expect(log).toEqual(['start', 'stop']);
  });
});

describe('retries', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const failing = (kind: Failure['kind'], times: number) => {
    const atMs: number[] = [];
    return {
      atMs,
      attempt: async () => {
        atMs.push(Date.now());
        if (atMs.length <= times) throw new Failure(kind);
        return 'done';
      },
    };
  };

  it.each(['busy', 'not_ready', 'connection_lost'] as const)('wait ever longer on %s', async (kind) => {
    vi.setSystemTime(0);
    const { attempt, atMs } = failing(kind, 4);
    const waits: Waiting[] = [];
    const { signal } = new AbortController();
    const result = withRetries(attempt, (wait) => waits.push(wait), signal);
    await vi.runAllTimersAsync();
    await expect(result).resolves.toBe('done');
    expect(atMs).toEqual([0, 500, 1_500, 3_500, 7_500]);
    expect(waits.map((wait) => wait.attempt)).toEqual([1, 2, 3, 4]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('end: the last failure is told', async () => {
    const { attempt, atMs } = failing('busy', 1_000);
    const result = expect(withRetries(attempt, () => {}, new AbortController().signal)).rejects.toMatchObject(
      {
        kind: 'busy',
      },
    );
    await vi.runAllTimersAsync();
    await result;
    expect(atMs).toHaveLength(9);
  });

  it.each(['unauthorized', 'file_too_long', 'inference_failed'] as const)(
    'are not made on %s',
    async (kind) => {
      const { attempt, atMs } = failing(kind, 1);
      await expect(withRetries(attempt, () => {}, new AbortController().signal)).rejects.toMatchObject({
        kind,
      });
      expect(atMs).toHaveLength(1);
    },
  );

  it('stop in the middle of a wait', async () => {
    const { attempt, atMs } = failing('busy', 1_000);
    const abort = new AbortController();
    const result = expect(withRetries(attempt, () => {}, abort.signal)).rejects.toMatchObject({
      kind: 'cancelled',
    });
    await vi.advanceTimersByTimeAsync(100);
    abort.abort(new Failure('cancelled'));
    await result;
    expect(atMs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are none when the attempt was stopped, however it then fails', async () => {
    const abort = new AbortController();
    const waits: Waiting[] = [];
    const stopped = async (): Promise<never> => {
      abort.abort(new Failure('cancelled'));
      throw new Failure('connection_lost');
    };
    const result = withRetries(stopped, (wait) => waits.push(wait), abort.signal);
    await expect(result).rejects.toMatchObject({ kind: 'cancelled' });
    expect(waits).toEqual([]);
  });
});
