import { setTimeout as delay } from 'node:timers/promises';
import { AUTHORIZED } from '../support/service/api.ts';
import type { Speech } from './clips.ts';
import { UPLOADS } from './http.ts';
import { HttpClient } from './http-client.ts';
import { type Measure, milliseconds, type Row } from './report.ts';
import type { BenchService } from './service.ts';
import { takeSlot } from './slot.ts';

const CLIP_MS = 1_000;
/** At any number of replicas and connections. */
const REQUESTS_PER_SECOND = 50;
const ROUND_REQUESTS = 100;
const CLIENTS = 8;
const REPLICAS = [1, 2, 4] as const;
const IDLE_CONNECTIONS = [10, 100, 1_000] as const;

/** How long a refusal takes at one rate of requests, by the number of connections that do nothing, and of replicas. */
export async function measureGrowth(service: BenchService, speech: Speech, rounds: number): Promise<Row[]> {
  const form = speech.form(CLIP_MS);
  const origins = [service.origin];
  const free = await takeSlot(service);
  const idle: HttpClient[] = [];
  const byConnections: Measure[] = [];
  for (const count of IDLE_CONNECTIONS) {
    while (idle.length < count) {
      const client = new HttpClient(service.origin, AUTHORIZED);
      await client.touch();
      idle.push(client);
    }
    byConnections.push(await slowest(origins, form, rounds));
  }
  await Promise.all(idle.map((client) => client.close()));
  const byReplicas: Measure[] = [];
  for (const count of REPLICAS) {
    while (origins.length < count) origins.push(await service.addReplica());
    byReplicas.push(await slowest(origins, form, rounds));
  }
  await free();
  return [
    ...rowsOf(IDLE_CONNECTIONS, byConnections, 'idle connections'),
    ...rowsOf(REPLICAS, byReplicas, 'replicas'),
  ];
}

/** The 99th percentile of a round's refusals; requests begin when they are due, not when those before them have ended. */
async function slowest(origins: readonly string[], form: Buffer, rounds: number): Promise<Measure> {
  const clients = Array.from(
    { length: CLIENTS },
    (_, i) => new HttpClient(origins[i % origins.length] ?? '', AUTHORIZED),
  );
  const p99Ms: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const startedAtMs = performance.now();
    const refusals = Array.from({ length: ROUND_REQUESTS }, async (_, request) => {
      await delay(startedAtMs + (1000 * request) / REQUESTS_PER_SECOND - performance.now());
      return (await clients[request % CLIENTS]?.upload(UPLOADS, form, 409))?.durationMs ?? Number.NaN;
    });
    const durationsMs = (await Promise.all(refusals)).sort((a, b) => a - b);
    if (round >= 0) p99Ms.push(durationsMs[Math.ceil(0.99 * durationsMs.length) - 1] ?? Number.NaN);
  }
  await Promise.all(clients.map((client) => client.close()));
  return milliseconds('p99 of a 409', p99Ms);
}

/** Each number against the smallest. */
function rowsOf(counts: readonly number[], measures: readonly Measure[], unit: string): Row[] {
  const [first] = measures;
  const base = first && { base: { ...first, what: `with ${counts[0]}` } };
  return measures.slice(1).map((value, i) => ({
    name: `growth, ${counts[i + 1]} ${unit}, ${REQUESTS_PER_SECOND} requests a second`,
    value,
    ...base,
    goal: ['≤', 2],
  }));
}
