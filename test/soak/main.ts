/**
 * `npm run soak -- [--minutes N] [--model MODEL]`: whether the service still needs the same memory after a
 * long time at full speed. See USAGE.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { beginUpload, clips } from '../chaos/clients.ts';
import { keepResult } from '../chaos/results.ts';
import { KeptService } from '../chaos/service.ts';
import { Tally } from '../chaos/tally.ts';
import { SMALL_CTC } from '../support/audio/fixtures.ts';
import { startRedis, type TestRedis } from '../support/redis/redis.ts';
import { Progress } from '../support/tools/progress.ts';
import { exitOnSignals, runTool } from '../support/tools/tool.ts';
import { crowd } from './crowd.ts';
import { SoakLoad } from './load.ts';
import { chart, growthTable, holdingOf, minuteTable, type Sample } from './report.ts';

const USAGE = `npm run soak -- [--minutes N] [--model MODEL]
  --minutes N    how long, 60 unless told
  --model MODEL  as ASR_MODEL names it, e.g. bundled; the small one of the tests unless told
Needs Linux: memory and handles are read from /proc.
exit code: 0 no process holds over 5 % more memory in the last quarter than in the second, 1 one does or an answer was wrong, 64 wrong arguments`;

const SAMPLE_MS = 1_000;
const READY_MS = 20_000;
const SHOWN_FAULTS = 5;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '60' },
      model: { type: 'string', default: SMALL_CTC },
      help: { type: 'boolean' },
    },
  });
  const minutes = Number(values.minutes);
  if (values.help || !(minutes > 0)) {
    console.error(values.help ? USAGE : `wrong arguments; ${USAGE}`);
    process.exitCode = values.help ? 0 : 64;
    return;
  }
  const redis = await startRedis();
  const service = await KeptService.start({
    redis,
    redisUrl: redis.url,
    replicas: 3,
    inferences: 2,
    model: values.model,
    logLevel: 'info',
  });
  const tally = new Tally();
  try {
    await service.untilReady(READY_MS);
    const load = await loadFor(service, tally);
    const [samples] = await Promise.all([sampled(service, redis, minutes, () => load.end()), load.run()]);
    const [replica] = service.replicas;
    if (replica === undefined) throw new Error('nobody to ask');
    const crowded = await crowd(replica);
    console.log(`${crowded.line}\n`);
    await report(samples, tally, [...service.faults, ...load.faults, ...crowded.faults]);
  } finally {
    await service.stop();
    await redis.stop();
  }
}

async function loadFor({ replicas }: KeptService, tally: Tally): Promise<SoakLoad> {
  const [replica] = replicas;
  // As long as may come at once.
  const [clip] = clips([2]);
  if (clip === undefined || replica === undefined) throw new Error('nothing to ask, or nobody');
  const outcome = await beginUpload(replica.origin, clip).outcome;
  if (outcome.kind !== 'text') throw new Error(`an undisturbed upload: ${JSON.stringify(outcome)}`);
  return new SoakLoad(replicas, clip, outcome.text, tally);
}

async function sampled(
  service: KeptService,
  redis: TestRedis,
  minutes: number,
  end: () => void,
): Promise<Sample[]> {
  const redisPid = Number(/process_id:(\d+)/.exec(await redis.client.info('server'))?.[1]);
  const pids = new Map(service.all.map(({ name, run }) => [name, run.process.child.pid ?? 0]));
  pids.set('redis', redisPid);
  const samples: Sample[] = [];
  const progress = new Progress();
  let shownMinute = -1;
  const beganAtMs = performance.now();
  const passedMinutes = (): number => (performance.now() - beganAtMs) / 60_000;
  try {
    while (passedMinutes() < minutes) {
      if (Math.floor(passedMinutes()) > shownMinute) {
        shownMinute = Math.floor(passedMinutes());
        progress.step(`under load, ${shownMinute} of ${minutes} min`);
      }
      await delay(SAMPLE_MS);
      // An hour of log lines would be this process's memory.
      for (const { process } of service.runs) process.stdout = '';
      const holdings = await Promise.all([...pids].map(async ([name, pid]) => [name, await holdingOf(pid)]));
      samples.push({
        minutes: passedMinutes(),
        holdings: Object.fromEntries(holdings),
        keys: await redis.client.dbsize(),
      });
    }
  } finally {
    progress.end();
    end();
  }
  return samples;
}

async function report(samples: readonly Sample[], tally: Tally, faults: readonly string[]): Promise<void> {
  const growth = growthTable(samples);
  const tables = [minuteTable(samples), growth.lines, tally.lines()].map((lines) => lines.join('\n'));
  const name = new Date().toISOString().replaceAll(':', '-');
  console.log(tables.join('\n\n'));
  for (const fault of faults.slice(0, SHOWN_FAULTS)) console.error(`WRONG: ${fault}`);
  if (faults.length > 0) console.error(`${faults.length} wrong in all`);
  console.log(
    `\n${await keepResult('soak', `${name}.md`, tables.join('\n\n'))}\n${await keepResult('soak', `${name}.svg`, chart(samples))}`,
  );
  if (growth.hasGrown) console.error('a process holds over 5 % more memory than in the second quarter');
  if (growth.hasGrown || faults.length > 0) process.exitCode = 1;
}

exitOnSignals();
await runTool('soak', USAGE, main);
