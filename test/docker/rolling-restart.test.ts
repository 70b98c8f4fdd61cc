import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { Clients, REAL_TIME_MS, speak } from './clients.ts';
import { buildImages, Compose } from './compose.ts';

const ROLL_MS = 200_000;
/** So that the two clients take turns at the slot. */
const PAUSE_MS = 200;

let compose: Compose;
let clients: Clients;

beforeAll(async () => {
  await buildImages('api', 'inference');
  compose = await Compose.create();
  clients = new Clients(compose);
  await compose.up();
});

afterAll(async () => {
  await compose?.down();
});

/** How a whole stream ends: `final`, the code of its error, or that of its close. */
async function stream(): Promise<string> {
  const client = await clients.connect();
  const ended = client.closed();
  const isOpen = await client.message('ready').then(
    () => true,
    () => false,
  );
  if (isOpen) {
    await speak(client, REAL_TIME_MS);
    client.end();
  }
  const code = await ended;
  const last = client.received.at(-1);
  return last?.type === 'error' ? String(last['code']) : `${last?.type} ${code}`;
}

test('a rolling restart under load loses no request but to `busy`', { timeout: ROLL_MS }, async () => {
  const before = [...(await compose.containers('api')), ...(await compose.containers('inference'))];
  const outcomes: Record<string, Record<string, number>> = {};
  const rolled = new AbortController();
  const load = async (name: string, act: () => Promise<unknown>): Promise<void> => {
    const counts: Record<string, number> = {};
    outcomes[name] = counts;
    while (!rolled.signal.aborted) {
      const outcome = String(await act().catch((error: unknown) => error));
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      await sleep(PAUSE_MS);
    }
  };
  const loads = [
    load('uploads', async () => (await clients.transcribe()).status),
    load('streams', stream),
    load('readyz', () => clients.status(`${compose.origin}/readyz`)),
  ];
  await promisify(execFile)('deploy/rolling-restart.sh', {
    cwd: packageRoot(),
    env: { ...process.env, COMPOSE: compose.command.join(' ') },
  }).finally(() => rolled.abort());
  await Promise.all(loads);

  console.log(outcomes);
  const after = [...(await compose.containers('api')), ...(await compose.containers('inference'))];
  expect(after).toHaveLength(before.length);
  expect(after.filter((id) => before.includes(id))).toEqual([]);
  const { uploads = {}, streams = {}, readyz = {} } = outcomes;
  expect(Object.keys(uploads).filter((status) => status !== '409')).toEqual(['200']);
  expect(Object.keys(streams).filter((end) => end !== 'busy')).toEqual(['final 1000']);
  expect(Object.keys(readyz)).toEqual(['200']);
});
