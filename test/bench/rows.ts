import type { Spread } from './statistics.ts';

/** One line of the table, with everything that was measured for it. */
export interface Row {
  readonly name: string;
  /** What was measured. */
  readonly value: Measure;
  /** What it is compared with. */
  readonly base?: Measure;
  /** Value over base. */
  readonly ratio?: number;
  /** Of the ratio; of the value, in its unit, where there is none. */
  readonly goal?: Goal;
}

export interface Measure {
  readonly what: string;
  readonly unit: 'ms' | '1/s' | 'MB' | '';
  readonly spread: Spread;
}

export interface Goal {
  readonly relation: '≤' | '≥';
  readonly limit: number;
}

/** @returns undefined for a row without a goal. */
export function isMet({ value, ratio, goal }: Row): boolean | undefined {
  if (goal === undefined) return undefined;
  const measured = ratio ?? value.spread.median;
  return goal.relation === '≤' ? measured <= goal.limit : measured >= goal.limit;
}
