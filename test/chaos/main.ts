/** `npm run chaos -- [--minutes N] [--seed N] [--model MODEL]`: random walks over a real service, as long as asked. See USAGE. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { SMALL_CTC } from '../support/audio/fixtures.ts';
import { Progress } from '../support/tools/progress.ts';
import { exitOnSignals, runTool } from '../support/tools/tool.ts';
import { keepResult } from './results.ts';
import { Tally } from './tally.ts';
import { walk } from './walk.ts';

const USAGE = `npm run chaos -- [--minutes N] [--seed N] [--model MODEL]
  --minutes N    how long, 10 unless told
  --seed N       that of the first walk; it grows by one with each walk. Random unless told
  --model MODEL  as ASR_MODEL names it, e.g. bundled; the small one of the tests unless told
exit code: 0 all promises were kept, 1 one was broken, 64 wrong arguments`;

const MOST_STEPS = 80;
const LONGEST_FAULT_MS = 4_000;
const SHRINKS = 15;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      model: { type: 'string', default: SMALL_CTC },
      help: { type: 'boolean' },
    },
  });
  const limitMs = Number(values.minutes) * 60_000;
  const firstSeed = values.seed === undefined ? randomInt(2 ** 31 - 1) : Number(values.seed);
  if (values.help || !(limitMs > 0) || !Number.isSafeInteger(firstSeed)) {
    console.error(values.help ? USAGE : `wrong arguments; ${USAGE}`);
    process.exitCode = values.help ? 0 : 64;
    return;
  }
  const progress = new Progress();
  const settings = {
    mostSteps: MOST_STEPS,
    longestFaultMs: LONGEST_FAULT_MS,
    shrinks: SHRINKS,
    say: (line: string): void => {
      progress.end();
      console.error(line);
    },
  };
  const tally = new Tally();
  const endsAtMs = performance.now() + limitMs;
  for (let seed = firstSeed; performance.now() < endsAtMs; seed += 1) {
    const stepsBefore = tally.sum('step');
    const beganAtMs = performance.now();
    const passedMinutes = ((limitMs - endsAtMs + beganAtMs) / 60_000).toFixed(1);
    progress.step(
      `walk ${seed - firstSeed + 1}, seed ${seed}, begun after ${passedMinutes} of ${values.minutes} min`,
    );
    const failed = await walk({ ...settings, seed, model: values.model }, tally);
    const seconds = ((performance.now() - beganAtMs) / 1_000).toFixed(0);
    progress.end();
    console.log(`seed ${seed}: ${tally.sum('step') - stepsBefore} steps, ${seconds} s`);
    if (failed === undefined) continue;
    const again = `npm run chaos -- --minutes 1 --seed ${seed}`;
    console.error(
      `${failed.report}\n\nagain: ${again}\nwhat happened: ${await keepResult('chaos', `walk-${seed}.log`, failed.timeline)}`,
    );
    process.exitCode = 1;
    break;
  }
  console.log(tally.lines().join('\n'));
}

exitOnSignals();
await runTool('chaos', USAGE, main);
