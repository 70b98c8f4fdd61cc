import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { launchBrowser, openPage } from '../e2e/page/browser.ts';
import { SMALL_CTC } from '../support/audio/fixtures.ts';
import type { StreamClient } from '../support/clients/stream-client.ts';
import { type Ended, startClient, whenEnded } from '../unit/client/client-process.ts';
import { Clients, speak } from './clients.ts';
import { addressOf, buildImages, Compose, docker } from './compose.ts';

/** 3.1 s of speech. */
const RECORDING = join(packageRoot(), 'test', 'fixtures', 'e00.wav');
const MODEL = '/app/models/downloaded/small-ctc';
const TEST_MS = 240_000;
const LOOPS = 5;
/** A stream lasts 40 s at most, and who waits is told `not_ready` after 60 s. */
const HOLDS_MS = [38_000, 18_500] as const;
const WAIT_MS = 54_000;

let compose: Compose;
let clients: Clients;

beforeAll(async () => {
  await buildImages('service');
  // A small model in the volume of models: what is tried here is the queue, also on a busy machine.
  compose = await Compose.create({ ASR_MODEL: MODEL, ASR_THREADS: '1' });
  clients = new Clients(compose);
  await compose.compose('--profile', 'services', 'up', '--detach', '--no-build', 'service');
  const [one = ''] = await services();
  await docker('cp', SMALL_CTC, `${one}:${MODEL}`);
  await compose.up({ profile: 'services', service: 'queue' });
  await bothAreFree();
});

afterAll(async () => {
  await compose?.down();
});

const services = (): Promise<string[]> => compose.containers('service');

async function bothAreFree(): Promise<void> {
  const free = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${compose.token}` };
    expect((await fetch(`${compose.origin}/readyz`, { headers })).headers.get('asr-free')).toBe('2');
  };
  await vi.waitFor(free, { timeout: 60_000, interval: 200 });
}

async function timed<T>(act: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const startedAtMs = performance.now();
  const result = await act();
  return { result, ms: Math.round(performance.now() - startedAtMs) };
}

/** @returns how the uploads of plain loops ended, each of which sends its next at once, until `ended` is settled */
async function besideLoops<T>(
  act: () => Promise<T>,
): Promise<{ result: T; outcomes: Record<string, number> }> {
  const outcomes: Record<string, number> = {};
  const over = new AbortController();
  const loop = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const outcome = String(
        (await clients.transcribe().catch((error: unknown) => ({ status: error }))).status,
      );
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  const loops = Array.from({ length: LOOPS }, loop);
  const result = await act().finally(() => over.abort());
  await Promise.all(loops);
  console.log(outcomes);
  return { result, outcomes };
}

function command(...options: string[]): Promise<Ended> {
  return whenEnded(startClient(['transcribe', ...options, RECORDING], clientSettings()));
}

const clientSettings = () => ({ ASR_URL: compose.origin, ASR_API_TOKEN: compose.token });

/** Until so many wait, by the queue's own metrics. */
async function untilWaiting(count: number): Promise<void> {
  const [queue = ''] = await compose.containers('queue');
  const metrics = `http://${await addressOf(queue)}:8405/metrics`;
  const waiting = async (): Promise<void> =>
    expect(await (await fetch(metrics)).text()).toContain(
      `haproxy_backend_current_queue{proxy="recognition"} ${count}\n`,
    );
  await vi.waitFor(waiting, { timeout: 10_000, interval: 100 });
}

/** Recognizes the recording on the page. */
async function onPage(): Promise<string | null> {
  const browser = await launchBrowser(RECORDING);
  try {
    const { tab, page } = await openPage(browser, `${compose.origin}/`);
    page.setDefaultTimeout(90_000);
    await tab.enterToken(compose.token);
    // Whichever it is while others are served.
    await page.locator('#status:is([data-status="ready"], [data-status="busy"])').waitFor();
    await tab.choose(RECORDING);
    return await tab.resultText();
  } finally {
    await browser.close();
  }
}

const RECOGNIZED = { code: 0, stdout: expect.stringMatching(/\p{Script=Han}/u), stderr: '' };

test('beside plain loops everybody has a turn', { timeout: TEST_MS }, async () => {
  const { result, outcomes } = await besideLoops(async () => {
    const single = [];
    for (let count = 0; count < 5; count += 1) single.push(await timed(() => clients.transcribe()));
    const upload = await timed(() => command());
    const stream = await timed(() => command('--stream'));
    const page = await timed(onPage);
    return { single, upload, stream, page };
  });
  const { single, upload, stream, page } = result;
  console.log({ single: single.map(({ ms }) => ms), upload: upload.ms, stream: stream.ms, page: page.ms });
  expect(single.map(({ result: { status } }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(upload.result).toEqual(RECOGNIZED);
  expect(stream.result).toEqual(RECOGNIZED);
  expect(page.result).toMatch(/\p{Script=Han}/u);
  expect(Object.keys(outcomes)).toEqual(['200']);
});

test('an address has 20 places; more is busy, and Retry-After says when', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => clients.transcribe()));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(10);
  for (const { status, body, headers } of refused)
    expect({ status, error: body['error'], after: headers.get('retry-after') }).toEqual({
      ...{ status: 429, error: 'busy', after: '2' },
    });
});

test('who hangs up leaves the queue', async () => {
  const holders = await Promise.all([clients.openStream(), clients.openStream()]);
  const waiting = startClient(['transcribe', RECORDING], clientSettings());
  await untilWaiting(1);
  waiting.kill('SIGINT');
  await untilWaiting(0);
  for (const holder of holders) holder.end();
  await Promise.all(holders.map((holder) => holder.closed()));
});

test('the status of each service', async () => {
  for (const id of await services()) {
    const status = await docker('exec', id, './service.sh', 'node', 'dist/api/operations/status/main.js');
    expect(status).toMatch(/^slot +free\n[\s\S]*: ready, \S*small-ctc [\s\S]*All is well\.$/);
  }
});

test('a service whose inference ends starts again, and others serve meanwhile', {
  timeout: TEST_MS,
}, async () => {
  const [dying = ''] = await services();
  const kill = `for (const pid of fs.readdirSync('/proc').filter(Number))
    if (fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8') === 'node\\0dist/inference/main.js\\0')
      process.kill(pid, 'SIGKILL')`;
  const restarts = (): Promise<string> => docker('inspect', '--format', '{{.RestartCount}}', dying);
  const { result, outcomes } = await besideLoops(async () => {
    await docker('exec', dying, 'node', '-e', kill);
    const served = await command();
    await vi.waitFor(async () => expect(await restarts()).toBe('1'), 30_000);
    await bothAreServing();
    return served;
  });
  expect(result).toMatchObject({ ...RECOGNIZED, stderr: expect.anything() });
  // What that service was at may fail; each loop goes on.
  // As in a rolling restart, one that has just come may be busy; and the slot of one that was killed is for 5 s.
  const { 200: served = 0, 409: _busy, ...failed } = outcomes;
  expect(served).toBeGreaterThan(5);
  expect(Object.values(failed).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(2);
});

/** As the load balancer has seen it. */
async function bothAreServing(): Promise<void> {
  await vi.waitFor(
    async () => {
      const log = await compose.compose('logs', '--no-color', 'queue');
      const states = new Map<string | undefined, string | undefined>();
      for (const [, name, state] of log.matchAll(/Server recognition\/(\w+) .*?is (UP|DOWN)/g))
        states.set(name, state);
      expect([...states.values()]).toEqual(['UP', 'UP']);
    },
    { timeout: 60_000, interval: 500 },
  );
}

test('a rolling restart loses nothing but to `busy`', { timeout: TEST_MS }, async () => {
  const before = await services();
  const { result, outcomes } = await besideLoops(() => {
    const env = { ...process.env, COMPOSE: compose.command.join(' ') };
    return promisify(execFile)('deploy/rolling-restart.sh', { cwd: packageRoot(), env });
  });
  expect(result.stderr).toContain('done: service (2)');
  const after = await services();
  expect(after).toHaveLength(2);
  expect(after.filter((id) => before.includes(id))).toEqual([]);
  // HAProxy 2.6 does not count the one that waited and went to a service that has just come: a second one follows.
  expect(Object.keys(outcomes).filter((status) => status !== '409')).toEqual(['200']);
});

test('an upload, a stream and the page wait for 55 s', { timeout: TEST_MS }, async () => {
  await bothAreFree();
  const hold = async (client: StreamClient, ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 5_000) {
      await sleep(Math.min(leftMs, 5_000));
      client.audio(Buffer.alloc(2));
    }
    client.end();
    await client.message('final');
  };
  // One pair behind the other: opened at once, a short one could come first.
  const firsts = await Promise.all([clients.openStream(), clients.openStream()]);
  const second = async (): Promise<void> => hold(await clients.openStream(), HOLDS_MS[1]);
  const held = [...firsts.map((client) => hold(client, HOLDS_MS[0])), second(), second()];
  await untilWaiting(2);
  const waits = await Promise.all([timed(() => command()), timed(() => command('--stream')), timed(onPage)]);
  await Promise.all(held);
  const [upload, stream, page] = waits;
  console.log({ upload: upload.ms, stream: stream.ms, page: page.ms });
  expect(upload.result).toEqual(RECOGNIZED);
  expect(stream.result).toEqual(RECOGNIZED);
  expect(page.result).toMatch(/\p{Script=Han}/u);
  for (const { ms } of waits) expect(ms).toBeGreaterThan(WAIT_MS);
});

test('stopping everything serves also those that wait', { timeout: TEST_MS }, async () => {
  const streams = await Promise.all([clients.openStream(), clients.openStream()]);
  const waiting = clients.transcribe();
  await untilWaiting(1);
  const stopped = compose.compose('--profile', 'services', 'stop');
  for (const client of streams) {
    await speak(client);
    client.end();
    await client.message('final');
  }
  expect(await waiting).toMatchObject({ status: 200 });
  await stopped;
});
