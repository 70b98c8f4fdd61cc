import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CHUNK_BYTES } from '../../../../common/audio/limits.ts';
import { updatePacing } from '../../../../inference/sessions/update-pacing.ts';

const IDLE_MS = 500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a streaming family', () => {
  test.each([
    [0, CHUNK_BYTES - 2, undefined],
    [0, CHUNK_BYTES, CHUNK_BYTES],
    [0, 5 * CHUNK_BYTES, CHUNK_BYTES],
    [CHUNK_BYTES, 2 * CHUNK_BYTES - 2, undefined],
    [CHUNK_BYTES, 2 * CHUNK_BYTES, 2 * CHUNK_BYTES],
  ])('has taken %i of %i bytes: the next update goes up to %o', (takenBytes, receivedBytes, target) => {
    for (const ended of [false, true])
      expect(updatePacing(false, IDLE_MS).next(takenBytes, { receivedBytes, ended })).toBe(target);
  });

  test('does not wait after an update that took long', () => {
    const pacing = updatePacing(false, IDLE_MS);
    const startedAtMs = performance.now();
    vi.advanceTimersByTime(900);
    pacing.updated(startedAtMs);
    expect(pacing.next(CHUNK_BYTES, { receivedBytes: 2 * CHUNK_BYTES, ended: false })).toBe(2 * CHUNK_BYTES);
    expect(pacing.waitMs).toBe(IDLE_MS);
  });
});

describe('a re-decoding family', () => {
  test.each([
    [0, CHUNK_BYTES - 2, undefined],
    [0, CHUNK_BYTES, CHUNK_BYTES],
    [0, CHUNK_BYTES + 6400, CHUNK_BYTES + 6400],
    [CHUNK_BYTES, 2 * CHUNK_BYTES - 2, undefined],
    [CHUNK_BYTES, 9 * CHUNK_BYTES, 9 * CHUNK_BYTES],
  ])('has taken %i of %i bytes: the next update goes up to %o', (takenBytes, receivedBytes, target) => {
    expect(updatePacing(true, IDLE_MS).next(takenBytes, { receivedBytes, ended: false })).toBe(target);
  });

  test('has no update of its own at the end: the final is one', () => {
    const audio = { receivedBytes: 9 * CHUNK_BYTES, ended: true };
    expect(updatePacing(true, IDLE_MS).next(CHUNK_BYTES, audio)).toBe(undefined);
  });

  test('rests as long as an update took, unless a second of audio waits', () => {
    const pacing = updatePacing(true, IDLE_MS);
    const startedAtMs = performance.now();
    vi.advanceTimersByTime(700);
    pacing.updated(startedAtMs);
    const waiting = (bytes: number) =>
      pacing.next(CHUNK_BYTES, { receivedBytes: CHUNK_BYTES + bytes, ended: false });
    expect(pacing.waitMs).toBe(IDLE_MS);
    expect(waiting(CHUNK_BYTES)).toBe(undefined);
    expect(waiting(2 * CHUNK_BYTES - 2)).toBe(undefined);
    expect(waiting(2 * CHUNK_BYTES)).toBe(3 * CHUNK_BYTES);
    vi.advanceTimersByTime(600);
    expect(pacing.waitMs).toBe(100);
    expect(waiting(CHUNK_BYTES)).toBe(undefined);
    vi.advanceTimersByTime(100);
    expect(waiting(CHUNK_BYTES)).toBe(2 * CHUNK_BYTES);
    expect(pacing.waitMs).toBe(IDLE_MS);
  });
});
