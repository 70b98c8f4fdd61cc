import { describe, expect, it } from 'vitest';
import { formatBytes, formatDuration, Progress } from '../../../../models/download/report.ts';

const MIB = 1024 * 1024;

function recorder(isTerminal: boolean, columns?: number) {
  const written: string[] = [];
  const clock = { ms: 0 };
  return {
    written,
    clock,
    output: { isTerminal, columns, write: (text: string) => void written.push(text), now: () => clock.ms },
  };
}

describe('what a person reads', () => {
  it('writes sizes and times', () => {
    expect([0, 1023, 1024, MIB - 1024, 133_895_136].map(formatBytes)).toEqual([
      '0 B',
      '1023 B',
      '1.0 KiB',
      '1023.0 KiB',
      '127.7 MiB',
    ]);
    expect([0, 0.2, 59, 60, 3599, 3600, 7322].map(formatDuration)).toEqual([
      '0 s',
      '1 s',
      '59 s',
      '1 min 0 s',
      '59 min 59 s',
      '1 h 0 min',
      '2 h 2 min',
    ]);
  });

  it('shows bytes, speed of the last five seconds and time left, one line a tenth away from a terminal', () => {
    const { written, clock, output } = recorder(false);
    const progress = new Progress('m', output);
    for (let second = 0; second <= 20; second++) {
      clock.ms = second * 1000;
      // 1 MiB/s for ten seconds, then 3 MiB/s
      progress.update(second <= 10 ? second * MIB : (10 + (second - 10) * 3) * MIB, 40 * MIB);
    }
    progress.end();
    expect(written[0]).toBe('m: 0 B of 40.0 MiB (0 %)\n');
    expect(written[1]).toBe('m: 4.0 MiB of 40.0 MiB (10 %), 1.0 MiB/s, 36 s left\n');
    expect(written).toContain('m: 28.0 MiB of 40.0 MiB (70 %), 3.0 MiB/s, 4 s left\n');
    expect(written.at(-1)).toBe('m: 40.0 MiB of 40.0 MiB (100 %), 3.0 MiB/s\n');
    expect(written).toHaveLength(11);
  });

  it('counts only what this run received into the speed of a resumed download', () => {
    const { written, clock, output } = recorder(false);
    const progress = new Progress('m', output);
    progress.update(50 * MIB, 100 * MIB);
    clock.ms = 1000;
    progress.update(60 * MIB, 100 * MIB);
    expect(written.at(-1)).toBe('m: 60.0 MiB of 100.0 MiB (60 %), 10.0 MiB/s, 4 s left\n');
  });

  it('writes over one line on a terminal, at most five times a second, and the end always', () => {
    const { written, clock, output } = recorder(true);
    const progress = new Progress('m', output);
    for (clock.ms = 0; clock.ms < 950; clock.ms += 10) progress.update(clock.ms, 950);
    progress.update(950, 950);
    progress.end();
    progress.end();
    expect(written).toHaveLength(7);
    expect(written.slice(0, -1).every((text) => text.startsWith('\r\x1b[2K') && !text.includes('\n'))).toBe(
      true,
    );
    expect(written.at(-1)).toBe('\n');
  });

  it.each([
    [81, 'x-asr-480ms, unpacking: 100.0 MiB of 200.0 MiB (50 %), 1.2 MiB/s, 1 min 24 s left'],
    [80, 'x-asr-480ms, unpacking: 100.0 MiB of 200.0 MiB (50 %), 1 min 24 s left'],
    [60, 'x-asr-480ms, unpacking: 100.0 MiB of 200.0 MiB (50 %)'],
    [20, 'x-asr-480ms, unpacki'],
    [0, 'x-asr-480ms, unpacking: 100.0 MiB of 200.0 MiB (50 %), 1.2 MiB/s, 1 min 24 s left'],
  ])('stays within one line of a terminal of %i columns', (columns, line) => {
    const { written, clock, output } = recorder(true, columns);
    const progress = new Progress('x-asr-480ms, unpacking', output);
    progress.update(94 * MIB, 200 * MIB);
    clock.ms = 5000;
    progress.update(100 * MIB, 200 * MIB);
    expect(written.at(-1)).toBe(`\r\x1b[2K${line}`);
  });
});
