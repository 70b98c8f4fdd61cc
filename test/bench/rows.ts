import type { Spread } from './statistics.ts';

/** One line of the table, with everything that was measured for it. */
export interface Row {
  readonly name: string;
  /** What was measured. */
  readonly value: Measure;
  /** What it is compared with. */
  readonly base?: Measure;
  /** Value over base; or the value itself where it is a share. */
  readonly ratio?: number;
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
export function isMet({ ratio, goal }: Row): boolean | undefined {
  if (ratio === undefined || goal === undefined) return undefined;
  return goal.relation === '≤' ? ratio <= goal.limit : ratio >= goal.limit;
}
