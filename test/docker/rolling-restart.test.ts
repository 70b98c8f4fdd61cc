import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { temporaryFolder } from '../support/tools/tool.ts';
import { Clients, REAL_TIME_MS, speak } from './clients.ts';
import { buildImages, Compose, docker } from './compose.ts';

const ROLL_MS = 200_000;
/** What the script rolls, as far as a machine without a card can run it. */
const ROLLED = ['inference', 'inference-standby', 'api'];
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

interface Roll {
  readonly code: number;
  readonly said: string;
}

/** @param env what the shell sets besides the deployment's own settings. @param command Compose with its options */
async function roll(env: Readonly<Record<string, string>> = {}, command = compose.command): Promise<Roll> {
  const options = { cwd: packageRoot(), env: { ...process.env, COMPOSE: command.join(' '), ...env } };
  return promisify(execFile)('deploy/rolling-restart.sh', options).then(
    ({ stderr }) => ({ code: 0, said: stderr }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, said: stderr }),
  );
}

/** Compose with a file whose service for GPUs runs here, too: without a card, and on the CPU. */
function withoutCard(folder: string): string[] {
  const text = readFileSync(join(packageRoot(), 'docker-compose.yml'), 'utf8')
    .replace('image: chinese-asr-inference-gpu', 'image: chinese-asr-inference')
    .replace('ASR_EXECUTION_PROVIDERS: cuda', 'ASR_EXECUTION_PROVIDERS: cpu')
    .replace(/^ *deploy: .*nvidia.*\n/m, '');
  const file = join(folder, 'docker-compose.yml');
  writeFileSync(file, text);
  return [...compose.command, '--file', file, '--project-directory', packageRoot()];
}

/** Ids of every container of these services, also of those that have ended. */
async function all(...services: string[]): Promise<string[]> {
  const ids = await compose.compose('--profile', 'standby', 'ps', '--all', '--quiet', ...services);
  return ids.split('\n').filter((id) => id !== '');
}

test('a rolling restart under load loses no request but to `busy`', { timeout: ROLL_MS }, async () => {
  await compose.compose('--profile', 'standby', 'up', '--detach', '--no-build', 'inference-standby');
  const before = await all(...ROLLED);
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
  const { code, said } = await roll().finally(() => rolled.abort());
  await Promise.all(loads);

  console.log(outcomes);
  expect(said).toContain('inference-gpu has no container; skipped');
  expect(said).toContain('done: inference (1) inference-standby (1) api (2)');
  expect(code).toBe(0);
  const after = await all(...ROLLED);
  expect(after).toHaveLength(before.length);
  expect(after.filter((id) => before.includes(id))).toEqual([]);
  const { uploads = {}, streams = {}, readyz = {} } = outcomes;
  expect(Object.keys(uploads).filter((status) => status !== '409')).toEqual(['200']);
  expect(Object.keys(streams).filter((end) => end !== 'busy')).toEqual(['final 1000']);
  expect(Object.keys(readyz)).toEqual(['200']);
});

test('a roll that fails says why, and leaves what was there', { timeout: ROLL_MS }, async () => {
  const before = await all(...ROLLED);
  for (const attempt of [1, 2]) {
    const { code, said } = await roll({ ASR_LOG_LEVEL: 'loud' });
    expect(code, `${attempt}`).toBe(1);
    expect(said).toContain('ASR_LOG_LEVEL');
    expect(said).toContain('inference ends right after its start; its new containers are removed');
    expect((await all(...ROLLED)).sort()).toEqual(before.sort());
  }
  expect(await clients.status(`${compose.origin}/readyz`)).toBe(200);
});

test('a roll that is interrupted leaves what was there', { timeout: ROLL_MS }, async () => {
  const before = await all(...ROLLED);
  const env = { ...process.env, COMPOSE: compose.command.join(' ') };
  const script = spawn('deploy/rolling-restart.sh', { cwd: packageRoot(), env, stdio: 'ignore' });
  const exited = once(script, 'exit');
  await vi.waitFor(async () => expect(await all('inference')).toHaveLength(2), 20_000);
  script.kill('SIGTERM');
  expect(await exited).toEqual([143, null]);
  expect((await all(...ROLLED)).sort()).toEqual(before.sort());
});

test('what does not run is skipped, and only healthy containers are counted', {
  timeout: ROLL_MS,
}, async () => {
  const [stopped = ''] = await all('api');
  await docker('stop', stopped);
  await docker('rm', '--force', ...(await all('inference', 'inference-standby')));
  const { code, said } = await roll();
  expect(said).toContain('inference has no container; skipped');
  expect(said).toContain('api: 1 new for 2 old');
  expect(said).toContain('done: api (1)');
  expect(code).toBe(0);
  expect(await all(...ROLLED)).toHaveLength(1);

  await docker('rm', '--force', ...(await all('api')));
  expect(await roll()).toMatchObject({ code: 1, said: expect.stringContaining('nothing runs here') });
});

test('the service for GPUs is rolled like the others', { timeout: ROLL_MS }, async () => {
  const folder = temporaryFolder();
  const command = withoutCard(folder.path);
  const [file = '', ...options] = command;
  const gpu = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(file, [...options, '--profile', 'gpu', ...args]);
    return stdout.trim();
  };
  await gpu('up', '--detach', '--no-build', '--no-deps', 'inference-gpu');
  const before = await gpu('ps', '--quiet', 'inference-gpu');
  const { code, said } = await roll({}, command);
  const after = await gpu('ps', '--quiet', 'inference-gpu');
  await docker('rm', '--force', after);
  folder.remove();
  expect(said).toContain('done: inference-gpu (1)');
  expect(code).toBe(0);
  expect(after).toMatch(/^\w+$/);
  expect(after).not.toBe(before);
});
