import { describe, expect, test } from 'vitest';
import { parseClientMessage } from '../../common/messages/stream.ts';

/** What the fuzz tests have found, each as the smallest case. */
describe('control messages', () => {
  test('an error that quotes a long value does not cut a character into halves', () => {
    const type = `a${'\u{1f3a4}'.repeat(40)}`;
    expect(() => parseClientMessage(JSON.stringify({ type }))).toThrow(/^[^\p{Surrogate}]+$/u);
  });
});
