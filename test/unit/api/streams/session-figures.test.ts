import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SessionFigures } from '../../../../api/streams/session-figures.ts';

const END = { sessionId: 's', outcome: 'final', code: undefined, reason: undefined, audioMs: 100 } as const;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('finalize_ms runs from the end message to the final, in tenths; the session from its beginning', () => {
  const tally = new SessionFigures();
  vi.advanceTimersByTime(1_000);
  tally.endReceived();
  vi.advanceTimersByTime(23.46);
  expect(tally.finalized()).toBe(23.5);
  vi.advanceTimersByTime(2);
  expect(tally.summary(END)).toEqual({
    ...END,
    partials: 0,
    takeovers: 0,
    queueMs: undefined,
    firstPartialMs: undefined,
    finalizeMs: 23.5,
    sessionMs: 1_025,
  });
});

test('the wait for a process runs from start to the first claim, that for a partial from the first audio', () => {
  const tally = new SessionFigures();
  vi.advanceTimersByTime(500);
  tally.startReceived();
  vi.advanceTimersByTime(3.14);
  tally.claimed('one');
  vi.advanceTimersByTime(100);
  for (const waitMs of [700, 200]) {
    tally.audioReceived();
    vi.advanceTimersByTime(waitMs);
  }
  for (const by of ['one', 'two']) {
    tally.partialSent();
    vi.advanceTimersByTime(1_000);
    tally.claimed(by);
  }
  expect(tally.summary(END)).toMatchObject({ queueMs: 3.1, firstPartialMs: 900 });
});

test('a claim by another process is a takeover, one more by the same is none', () => {
  const tally = new SessionFigures();
  const takeovers = [];
  for (const by of ['one', 'one', 'two', 'two', 'one']) {
    tally.claimed(by);
    tally.partialSent();
    takeovers.push(tally.summary(END).takeovers);
  }
  expect(takeovers).toEqual([0, 0, 1, 1, 2]);
  expect(tally.summary(END)).toMatchObject({ partials: 5, finalizeMs: undefined });
});
