import { setTimeout as delay } from 'node:timers/promises';
import type { EngineChildOptions, EngineRequest, Recognized } from './engine-child.ts';
import { EngineProcess } from './engine-process.ts';
import type { Goal, Measure, Row } from './rows.ts';
import { spread } from './statistics.ts';

/** The threads of sherpa-onnx go on spinning for tens of milliseconds behind its text, which the other one's turn must not begin in. */
const PAUSE_MS = 200;

/** An engine, and what it does with the last piece of a recording. */
export type Arm = EngineChildOptions & Pick<EngineRequest, 'last'>;

/**
 * Each arm, in a process of its own, recognizes each recording; in turns, so that what else the machine does meets all of them alike.
 * @returns what each arm measured: recordings times rounds.
 */
export async function measureInTurns<Name extends string>(
  arms: Readonly<Record<Name, Arm>>,
  recordings: readonly (readonly Buffer[])[],
  rounds: number,
): Promise<Record<Name, Recognized[]>> {
  const [first = []] = recordings;
  const started: { name: string; last: Arm['last']; engine: EngineProcess; results: Recognized[] }[] = [];
  try {
    for (const [name, { last, ...options }] of Object.entries<Arm>(arms)) {
      const engine = await EngineProcess.start(options, { pieces: first, last });
      started.push({ name, last, engine, results: [] });
    }
    for (let round = 0; round < rounds; round++) {
      for (const pieces of recordings) {
        for (const { last, engine, results } of started) {
          await delay(PAUSE_MS);
          results.push(await engine.recognize({ pieces, last }));
        }
      }
    }
  } finally {
    for (const { engine } of started) engine.stop();
  }
  return Object.fromEntries(started.map(({ name, results }) => [name, results])) as Record<
    Name,
    Recognized[]
  >;
}

/** What two arms measured, by one of their figures. */
export function comparison(
  name: string,
  unit: Measure['unit'],
  figure: (result: Recognized) => number,
  ours: readonly Recognized[],
  sherpa: readonly Recognized[],
  goal?: Goal,
): Row {
  const value = { what: 'ours', unit, spread: spread(ours.map(figure)) };
  const base = { what: 'sherpa-onnx', unit, spread: spread(sherpa.map(figure)) };
  const ratio = value.spread.median / base.spread.median;
  return { name, value, base, ratio, ...(goal === undefined ? {} : { goal }) };
}

export function threadsText(threads: number): string {
  return threads === 1 ? '1 thread' : `${threads} threads`;
}
