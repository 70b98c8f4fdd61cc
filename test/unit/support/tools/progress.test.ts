import { afterEach, expect, test, vi } from 'vitest';
import { Progress } from '../../../support/tools/progress.ts';

afterEach(() => void vi.useRealTimers());

function shownOn(isTTY: boolean): { progress: Progress; written: string[] } {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const written: string[] = [];
  const write = (text: unknown): boolean => written.push(String(text)) > 0;
  return { progress: new Progress({ isTTY, write }), written };
}

test('in a terminal one line says each second how long it has taken, and how many are done', () => {
  const { progress, written } = shownOn(true);
  progress.step('recognizing', 12);
  progress.one();
  vi.advanceTimersByTime(61_000);
  progress.step('measuring');
  progress.end();
  vi.advanceTimersByTime(5_000);
  const lines = written.map((text) => text.replace('\r\x1b[K', ''));
  expect(lines).toHaveLength(65);
  expect(lines.slice(0, 2)).toEqual(['recognizing, 0 of 12, 0 s', 'recognizing, 1 of 12, 1 s']);
  expect(lines.slice(-4)).toEqual(['recognizing, 1 of 12, 1 min 1 s', '', 'measuring, 0 s', '']);
  for (const text of written) expect(text).not.toContain('\n');
});

test('without a terminal each step is one plain line', () => {
  const { progress, written } = shownOn(false);
  progress.step('recognizing', 12);
  progress.one();
  vi.advanceTimersByTime(60_000);
  progress.step('measuring');
  progress.end();
  expect(written).toEqual(['recognizing, 12 in all ...\n', 'measuring ...\n']);
});
