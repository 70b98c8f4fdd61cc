import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/**
 * Until the test ends, pauses between tries take no time.
 * @returns how long each was to be, in ms, so that no test measures the machine
 */
export function pausesSkipped(): number[] {
  const pauses: number[] = [];
  const skipped = vi.spyOn(timers, 'setTimeout').mockImplementation(async (ms) => void pauses.push(ms ?? 0));
  syncBuiltinESMExports();
  onTestFinished(() => {
    skipped.mockRestore();
    syncBuiltinESMExports();
  });
  return pauses;
}
