import { vi } from 'vitest';

/**
 * Waits for a state that nobody announces: asks every 20 ms, and fails with the last answer's failure after
 * 10 s, which only a broken program takes.
 */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 10_000, interval: 20 });
}
