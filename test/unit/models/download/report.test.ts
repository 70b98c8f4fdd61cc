import { expect, it } from 'vitest';
import { formatBytes, Progress } from '../../../../models/download/report.ts';

const MIB = 1024 * 1024;

function recorder(isTerminal: boolean, columns?: number) {
  const written: string[] = [];
  return { written, screen: { isTerminal, columns, write: (text: string) => void written.push(text) } };
}

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [MIB - 1024, '1023.0 KiB'],
  [133_895_136, '127.7 MiB'],
])('writes %i bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

it('writes a line for every tenth away from a terminal, also of a download that goes on', () => {
  const { written, screen } = recorder(false);
  const progress = new Progress('m', screen);
  for (let bytes = 14 * MIB; bytes <= 40 * MIB; bytes += MIB / 2) progress.update(bytes, 40 * MIB);
  progress.end();
  expect(written[0]).toBe('m: 14.0 MiB of 40.0 MiB (35 %)\n');
  expect(written[1]).toBe('m: 16.0 MiB of 40.0 MiB (40 %)\n');
  expect(written.at(-1)).toBe('m: 40.0 MiB of 40.0 MiB (100 %)\n');
  expect(written).toHaveLength(8);
});

it('writes over one line on a terminal when what it says has changed', () => {
  const { written, screen } = recorder(true);
  const progress = new Progress('m', screen);
  for (const bytes of [0, 100, 100, 2048]) progress.update(bytes, 2048);
  progress.note('a notice');
  progress.end();
  const line = (text: string): string => `\r\x1b[2Km: ${text}`;
  expect(written).toEqual([
    line('0 B of 2.0 KiB (0 %)'),
    line('100 B of 2.0 KiB (4 %)'),
    line('2.0 KiB of 2.0 KiB (100 %)'),
    '\n',
    'a notice\n',
  ]);
});

it.each([
  [20, 'x-asr-480ms, unpacki'],
  [0, 'x-asr-480ms, unpacking: 100.0 MiB of 200.0 MiB (50 %)'],
])('stays within one line of a terminal of %i columns', (columns, line) => {
  const { written, screen } = recorder(true, columns);
  new Progress('x-asr-480ms, unpacking', screen).update(100 * MIB, 200 * MIB);
  expect(written).toEqual([`\r\x1b[2K${line}`]);
});
