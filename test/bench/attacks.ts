import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../../common/process/package-root.ts';
import { ATTACKS, type Attack, holding } from '../support/clients/attacks.ts';
import { openStream } from '../support/service/api.ts';
import { type RealService, sendPaced, startRealService } from '../support/service/real-service.ts';
import type { Speech } from './clips.ts';
import { milliseconds, type Row } from './report.ts';
import { spread } from './statistics.ts';

const LASTS_MS = 3_000;
const LOOK_MS = 20;
const STREAM_MS = 2_000;
const FRAME_BYTES = 3_200;
const FRAME_MS = 100;
const GONE_WITHIN_MS = 20_000;

interface Met {
  readonly healthMs: number[];
  readonly megabytes: number[];
  /** How streams in real time ended, one after another. */
  readonly streams: string[];
}

/** What other clients and the machine meet while hostile clients, in a process of their own, attack a replica. */
export async function measureAttacks(speech: Speech): Promise<Row[]> {
  const service = await startRealService();
  try {
    const quiet = await meet(service, speech);
    const rows: Row[] = [];
    for (const attack of ATTACKS) rows.push(...(await measure(service, speech, attack, quiet)));
    return rows;
  } finally {
    await service.stop();
  }
}

async function measure(service: RealService, speech: Speech, attack: Attack, quiet: Met): Promise<Row[]> {
  const pid = Number(service.api.child.pid);
  const before = holding(pid).descriptors;
  const attacker = fork(join(packageRoot(), 'dist/test/bench/attacker.js'), [service.origin, attack.name]);
  const met = await meet(service, speech);
  attacker.disconnect();
  await once(attacker, 'exit');
  const untilMs = performance.now() + GONE_WITHIN_MS;
  while (holding(pid).descriptors > before && performance.now() < untilMs) await delay(LOOK_MS);
  const left = Math.max(0, holding(pid).descriptors - before);
  const name = `attack, ${attack.connections} × ${attack.name}`;
  return [
    {
      name: `${name}; streams: ${met.streams.join(', ')}`,
      value: milliseconds('/healthz', met.healthMs),
      base: milliseconds('without', quiet.healthMs),
    },
    {
      name: `${name}; descriptors left: ${left}`,
      value: {
        what: `memory (at most ${Math.max(...met.megabytes).toFixed(0)})`,
        unit: 'MB',
        spread: spread(met.megabytes),
      },
      base: { what: 'without', unit: 'MB', spread: spread(quiet.megabytes) },
    },
  ];
}

async function meet({ origin, wsUrl, api }: RealService, speech: Speech): Promise<Met> {
  const met: Met = { healthMs: [], megabytes: [], streams: [] };
  const untilMs = performance.now() + LASTS_MS;
  const isOver = (): boolean => performance.now() > untilMs;
  const streaming = async (): Promise<void> => {
    while (!isOver()) met.streams.push(await streamOnce(wsUrl, speech.pcm(STREAM_MS)));
  };
  const looking = async (): Promise<void> => {
    while (!isOver()) {
      const askedAtMs = performance.now();
      await (await fetch(`${origin}/healthz`)).arrayBuffer();
      met.healthMs.push(performance.now() - askedAtMs);
      met.megabytes.push(holding(Number(api.child.pid)).megabytes);
      await delay(LOOK_MS);
    }
  };
  await Promise.all([streaming(), looking()]);
  return met;
}

/** @returns `final`, or the code of the error, or how the connection ended */
async function streamOnce(wsUrl: string, pcm: Buffer): Promise<string> {
  try {
    const client = await openStream(wsUrl);
    await sendPaced(client, pcm, FRAME_BYTES, FRAME_MS);
    client.end();
    await client.closed();
    const last = client.received.at(-1);
    return String(last?.['code'] ?? last?.type ?? 'closed');
  } catch (error) {
    await delay(FRAME_MS);
    return /"code":"(\w+)"/.exec(String(error))?.[1] ?? 'closed';
  }
}
