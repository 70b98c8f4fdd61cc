import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../common/process/package-root.ts';
import { isMet, type Measure, type Row } from './rows.ts';

/** Under what circumstances the figures came about. */
export interface Circumstances {
  /** ISO time */
  readonly startedAt: string;
  readonly node: string;
  readonly cores: number;
  /** Load averages over one minute; that of the run itself is part of the second. */
  readonly loadBefore: number;
  readonly loadAfter: number;
}

/** @returns what to call when the run is over */
export function beginCircumstances(): () => Circumstances {
  const startedAt = new Date().toISOString();
  const [loadBefore = 0] = loadavg();
  return () => ({
    startedAt,
    node: process.version,
    cores: cpus().length,
    loadBefore,
    loadAfter: loadavg()[0] ?? 0,
  });
}

const HEADINGS = ['', 'measured', 'compared with', 'ratio', 'goal', ''] as const;

/** @param markdown for a README; else for a terminal */
export function table(rows: readonly Row[], circumstances: Circumstances, markdown: boolean): string {
  const { startedAt, node, cores, loadBefore, loadAfter } = circumstances;
  const about =
    `${startedAt.slice(0, 10)}, Node ${node}, ${cores} cores, ` +
    `load average ${loadBefore.toFixed(1)} before and ${loadAfter.toFixed(1)} after; medians [quartiles]`;
  const cells = [HEADINGS, ...rows.map(cellsOf)];
  if (markdown) {
    const lines = cells.map((line) => `| ${line.join(' | ')} |`);
    lines.splice(1, 0, `|${' --- |'.repeat(HEADINGS.length)}`);
    return [about, '', ...lines].join('\n');
  }
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? '').length)));
  const lines = cells.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return [about, '', ...lines.map((line) => line.trimEnd())].join('\n');
}

function cellsOf(row: Row): string[] {
  const met = isMet(row);
  return [
    row.name,
    text(row.value),
    row.base === undefined ? '' : text(row.base),
    row.ratio === undefined ? '' : row.ratio.toFixed(2),
    row.goal === undefined ? '' : `${row.goal.relation} ${row.goal.limit}`,
    met === undefined ? '' : met ? 'met' : 'not met',
  ];
}

function text({ what, unit, spread: { median, lowerQuartile, upperQuartile } }: Measure): string {
  const digits = { ms: 1, '1/s': 0, MB: 0, '': 4 }[unit];
  const number = (value: number): string => value.toFixed(digits);
  const suffix = unit === '' ? '' : ` ${unit}`;
  return `${what}: ${number(median)} [${number(lowerQuartile)}–${number(upperQuartile)}]${suffix}`;
}

/** @returns the file's path below the project's folder. */
export async function writeResults(
  name: string,
  rows: readonly Row[],
  circumstances: Circumstances,
): Promise<string> {
  const folder = join('test', 'bench', 'results');
  const file = join(folder, `${name}-${circumstances.startedAt.replaceAll(':', '-')}.json`);
  await mkdir(join(packageRoot(), folder), { recursive: true });
  const content = { ...circumstances, rows: rows.map((row) => ({ ...row, met: isMet(row) })) };
  await writeFile(join(packageRoot(), file), `${JSON.stringify(content, undefined, 2)}\n`);
  return file;
}
