import { setTimeout as delay } from 'node:timers/promises';
import type { Speech } from './clips.ts';
import { HttpClient } from './http-client.ts';
import type { Measure, Row } from './rows.ts';
import type { BenchService } from './service.ts';
import { refusal, takeSlot } from './slot.ts';
import { spread } from './statistics.ts';

const CLIP_MS = 1_000;
/** At any number of replicas and connections. */
const REQUESTS_PER_SECOND = 50;
const ROUND_REQUESTS = 100;
const CLIENTS = 8;
const REPLICAS = [1, 2, 4] as const;
const IDLE_CONNECTIONS = [10, 100, 1_000] as const;
const GOAL = { relation: '≤', limit: 2 } as const;

/** How long a refusal takes at one rate of requests, by the number of replicas, and of connections that do nothing. */
export async function measureGrowth(service: BenchService, speech: Speech, rounds: number): Promise<Row[]> {
  const form = speech.form(CLIP_MS);
  const origins = [service.apiOrigin];
  const free = await takeSlot(service);
  const idle: HttpClient[] = [];
  try {
    const connections = new Map<number, Measure>();
    for (const count of IDLE_CONNECTIONS) {
      while (idle.length < count) idle.push(await idleConnection(service));
      connections.set(count, await slowest(service, origins, form, rounds));
    }
    await Promise.all(idle.splice(0).map((client) => client.close()));
    const replicas = new Map<number, Measure>();
    for (const count of REPLICAS) {
      while (origins.length < count) origins.push(await service.addReplica());
      replicas.set(count, await slowest(service, origins, form, rounds));
    }
    return [...rowsOf(connections, 'idle connections'), ...rowsOf(replicas, 'replicas')];
  } finally {
    await Promise.all(idle.map((client) => client.close()));
    await free();
  }
}

/** Kept alive after one request. */
async function idleConnection({ apiOrigin, authorization }: BenchService): Promise<HttpClient> {
  const client = new HttpClient(apiOrigin, authorization);
  await client.get('/healthz');
  return client;
}

/** The 99th percentile of a round's refusals; requests begin when they are due, not when those before them have ended. */
async function slowest(
  { authorization }: BenchService,
  origins: readonly string[],
  form: Buffer,
  rounds: number,
): Promise<Measure> {
  const clients = Array.from({ length: CLIENTS }, (_, i) => {
    const origin = origins[i % origins.length] ?? '';
    return new HttpClient(origin, authorization);
  });
  const p99Ms: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const startedAtMs = performance.now();
    const refusals: Promise<number>[] = [];
    for (let request = 0; request < ROUND_REQUESTS; request += 1) {
      await delay(startedAtMs + (1000 * request) / REQUESTS_PER_SECOND - performance.now());
      const client = clients[request % clients.length];
      if (client) refusals.push(refusal(client, form));
    }
    const durationsMs = (await Promise.all(refusals)).sort((a, b) => a - b);
    if (round >= 0) p99Ms.push(durationsMs[Math.ceil(0.99 * durationsMs.length) - 1] ?? Number.NaN);
  }
  await Promise.all(clients.map((client) => client.close()));
  return { what: 'p99 of a 409', unit: 'ms', spread: spread(p99Ms) };
}

/** Each number against the smallest. */
function rowsOf(measures: ReadonlyMap<number, Measure>, unit: string): Row[] {
  const [first] = measures;
  return [...measures].slice(1).map(([count, value]) => ({
    name: `growth, ${count} ${unit}, ${REQUESTS_PER_SECOND} requests a second`,
    value,
    ...(first && {
      base: { ...first[1], what: `with ${first[0]}` },
      ratio: value.spread.median / first[1].spread.median,
      goal: GOAL,
    }),
  }));
}
