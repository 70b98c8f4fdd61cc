import { cpus, loadavg } from 'node:os';
import { type Spread, spread } from './statistics.ts';

/** One line of the table. */
export interface Row {
  readonly name: string;
  /** What was measured. */
  readonly value: Measure;
  /** What it is compared with. */
  readonly base?: Measure;
  /** Where it is not that of the medians. */
  readonly ratio?: number;
  /** Of the ratio, or of the value where there is nothing to compare with. */
  readonly goal?: Goal;
}

export interface Measure {
  readonly what: string;
  readonly unit: 'ms' | '1/s' | 'MB' | '';
  readonly spread: Spread;
}

export type Goal = readonly [relation: '≤' | '≥', limit: number];

export function milliseconds(what: string, values: readonly number[]): Measure {
  return { what, unit: 'ms', spread: spread(values) };
}

/** @returns what makes the line about the circumstances when the run is over */
export function circumstances(): () => string {
  const day = new Date().toISOString().slice(0, 10);
  const [before = 0] = loadavg();
  return () => {
    const [after = 0] = loadavg();
    const load = `load average ${before.toFixed(1)} before and ${after.toFixed(1)} after`;
    return `${day}, Node ${process.version}, ${cpus().length} cores, ${load}; medians [quartiles]:`;
  };
}

/** In Markdown. */
export function table(rows: readonly Row[]): string {
  const cells = [['', 'measured', 'compared with', 'ratio', 'goal', ''], ...rows.map(cellsOf)];
  const lines = cells.map((line) => `| ${line.join(' | ')} |`);
  return [lines[0], '| --- | --- | --- | --- | --- | --- |', ...lines.slice(1)].join('\n');
}

function cellsOf({ name, value, base, goal, ...row }: Row): string[] {
  const ratio = row.ratio ?? (base && value.spread.median / base.spread.median);
  const cells = [name, text(value), base ? text(base) : '', ratio?.toFixed(2) ?? ''];
  if (goal === undefined) return [...cells, '', ''];
  const [relation, limit] = goal;
  const measured = ratio ?? value.spread.median;
  const isMet = relation === '≤' ? measured <= limit : measured >= limit;
  return [...cells, `${relation} ${limit}`, isMet ? 'met' : 'not met'];
}

function text({ what, unit, spread: { median, lowerQuartile, upperQuartile } }: Measure): string {
  const digits = { ms: 1, '1/s': 0, MB: 0, '': 4 }[unit];
  const [middle, ...range] = [median, lowerQuartile, upperQuartile].map((value) => value.toFixed(digits));
  return `${what}: ${middle} [${range.join('–')}]${unit === '' ? '' : ` ${unit}`}`;
}
