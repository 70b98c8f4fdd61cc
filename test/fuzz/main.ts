/** `npm run fuzz -- [--minutes N] [--seed N] [--only WORD]`: the properties of `npm test` with new seeds, as long as asked. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runTool } from '../support/tools/tool.ts';
import { ALL } from './all.ts';
import type { Fuzz } from './fuzz.ts';
import { FuzzService } from './service.ts';

const USAGE = `npm run fuzz -- [--minutes N] [--seed N] [--only WORD]
  --minutes N   how long, 10 unless told
  --seed N      where to begin; the seed grows by one with each round. Random unless told
  --only WORD   only the properties with this word in their names
exit code: 0 all held, 1 a property failed, 64 wrong arguments`;

type Outcome = 'held' | 'held as far as it came' | 'failed';

interface Score {
  cases: number;
  ms: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      only: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const limitMs = Number(values.minutes) * 60_000;
  const firstSeed = values.seed === undefined ? randomInt(2 ** 31 - 1) : Number(values.seed);
  const chosen = ALL.filter(({ name }) => name.includes(values.only ?? ''));
  if (values.help || !(limitMs > 0) || !Number.isSafeInteger(firstSeed) || chosen.length === 0) {
    console.error(values.help ? USAGE : `wrong arguments; ${USAGE}`);
    process.exitCode = values.help ? 0 : 64;
    return;
  }
  const scores = new Map(chosen.map(({ name }) => [name, { cases: 0, ms: 0 }]));
  const endsAt = performance.now() + limitMs;
  const stopping = new AbortController();
  process.once('SIGINT', () => {
    console.error('stopping behind the property that is being tried');
    stopping.abort();
  });
  const goesOn = (): boolean => performance.now() < endsAt && !stopping.signal.aborted;
  let outcome: Outcome = 'held';
  for (let seed = firstSeed; goesOn() && outcome === 'held'; seed += 1) {
    outcome = await round(seed, chosen, scores, goesOn);
    const leftMinutes = Math.max(0, (endsAt - performance.now()) / 60_000).toFixed(1);
    console.log(`seed ${seed} ${outcome}   ${leftMinutes} min left`);
  }
  for (const [name, { cases, ms }] of scores)
    console.log(`${String(cases).padStart(9)} cases ${rate(cases, ms).padStart(7)} a second   ${name}`);
  process.exitCode = outcome === 'failed' ? 1 : 0;
}

/** Each property once, with this seed and as many cases as in `npm test`, as long as it goes on. */
async function round(
  seed: number,
  chosen: readonly Fuzz[],
  scores: ReadonlyMap<string, Score>,
  goesOn: () => boolean,
): Promise<Outcome> {
  let service: FuzzService | undefined;
  // The served ones last: the others leave the event loop no time, and a service in the same process would be found dead.
  const inOrder = [...chosen].sort((a, b) => Number(a.served) - Number(b.served));
  try {
    for (const fuzz of inOrder) {
      if (!goesOn()) return 'held as far as it came';
      if (fuzz.served) service ??= await FuzzService.start();
      const began = performance.now();
      const { cases, report } = await fuzz.run({ seed, cases: fuzz.cases }, service);
      const score = scores.get(fuzz.name);
      if (score) {
        score.cases += cases;
        score.ms += performance.now() - began;
      }
      if (report !== undefined) {
        const again = `npm run fuzz -- --seed ${seed} --only "${fuzz.name}"`;
        console.error(`FAILED: ${fuzz.name}\n${report}\n\nagain: ${again}`);
        return 'failed';
      }
    }
    return 'held';
  } finally {
    await service?.stop();
  }
}

function rate(cases: number, ms: number): string {
  return ms === 0 ? '0' : ((cases / ms) * 1000).toFixed(0);
}

await runTool('fuzz', USAGE, main);
