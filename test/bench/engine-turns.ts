import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { EngineChildOptions, EngineRequest, Recognized } from './engine-child.ts';
import type { Goal, Measure, Row } from './report.ts';
import { spread } from './statistics.ts';

/** sherpa-onnx's threads go on spinning for tens of milliseconds behind its text, which must not disturb the next turn. */
const PAUSE_MS = 200;
const CHILD = fileURLToPath(new URL('./engine-child.js', import.meta.url));

/** An engine, and what it does with the last piece of a recording. */
export type Arm = EngineChildOptions & Pick<EngineRequest, 'last'>;

/**
 * Each arm, in a process of its own, recognizes each recording; in turns, so that what else the machine does meets all
 * of them alike.
 * @returns what each arm measured: recordings times rounds.
 */
export async function measureInTurns<Name extends string>(
  arms: Readonly<Record<Name, Arm>>,
  recordings: readonly (readonly Buffer[])[],
  rounds: number,
): Promise<Record<Name, Recognized[]>> {
  const [first = []] = recordings;
  const started = Object.entries<Arm>(arms).map(([name, { last, ...options }]) => {
    // Buffers stay what they are.
    const child = fork(CHILD, [JSON.stringify(options)], { serialization: 'advanced' });
    return { name, child, last, results: [] as Recognized[] };
  });
  try {
    for (const { child, last } of started) await recognize(child, { pieces: first, last });
    for (let round = 0; round < rounds; round++) {
      for (const pieces of recordings) {
        for (const { child, last, results } of started) {
          await delay(PAUSE_MS);
          results.push(await recognize(child, { pieces, last }));
        }
      }
    }
  } finally {
    for (const { child } of started) child.kill('SIGKILL');
  }
  const results = started.map(({ name, results }) => [name, results]);
  return Object.fromEntries(results) as Record<Name, Recognized[]>;
}

async function recognize(child: ChildProcess, request: EngineRequest): Promise<Recognized> {
  const abort = new AbortController();
  const died = once(child, 'exit', { signal: abort.signal }).then(([code]) => {
    throw new Error(`the engine's process ended with ${code}`);
  });
  const recognized = once(child, 'message', { signal: abort.signal });
  child.send(request);
  try {
    const [reply] = await Promise.race([recognized, died]);
    return reply;
  } finally {
    abort.abort();
    for (const wait of [died, recognized]) wait.catch(() => {});
  }
}

/** What two arms measured, by one of their figures. */
export function comparison(
  name: string,
  unit: Measure['unit'],
  figure: (result: Recognized) => number,
  ours: readonly Recognized[],
  sherpa: readonly Recognized[],
  goal: Goal,
): Row {
  const value = { what: 'ours', unit, spread: spread(ours.map(figure)) };
  const base = { what: 'sherpa-onnx', unit, spread: spread(sherpa.map(figure)) };
  return { name, value, base, goal };
}

export function threadsText(threads: number): string {
  return threads === 1 ? '1 thread' : `${threads} threads`;
}
