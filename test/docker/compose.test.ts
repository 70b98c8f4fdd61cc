import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { Clients, finalText, REAL_TIME_MS, speak } from './clients.ts';
import { addressOf, buildImages, Compose, docker, exitCodeOf, REVISION, SOURCE } from './compose.ts';

const INFERENCES = ['inference', 'inference-standby'];

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

async function replicas(): Promise<string[]> {
  const addresses = await Promise.all((await compose.containers('api')).map(addressOf));
  return addresses.map((address) => `http://${address}:${compose.port}`);
}

/**
 * Until the load balancer has found them all: one that was just started is down for it, and with only that
 * one left a request is 503.
 */
async function untilAllAreServing(): Promise<void> {
  const origins = await replicas();
  await vi.waitFor(async () => {
    for (const origin of origins) expect(await clients.status(`${origin}/healthz`)).toBe(200);
    const log = await compose.compose('logs', '--no-color', 'haproxy');
    const states = log.matchAll(/Server api\/(\w+) .*?is (UP|DOWN)/g);
    expect([...new Map(Array.from(states, ([, name, state]) => [name, state])).values()]).toEqual(
      origins.map(() => 'UP'),
    );
  }, 20_000);
}

/**
 * The container whose process a value in Redis names, by its host name in front: the slot's and the lease's
 * are there for an operator to read.
 */
async function containerNamedIn(services: readonly string[], key: string): Promise<string> {
  const [redis = ''] = await compose.containers('redis');
  const value = await docker('exec', redis, 'redis-cli', '--raw', 'GET', key);
  const containers = await Promise.all(services.map((service) => compose.containers(service)));
  const found = containers.flat().find((id) => value.includes(id.slice(0, 12)));
  if (found === undefined) throw new Error(`${key} names no container of ${services}: "${value}"`);
  return found;
}

test('the same text over HTTP and over a stream, through the load balancer', async () => {
  const { status, body } = await clients.transcribe();
  expect(status).toBe(200);
  expect(body).toMatchObject({ text: expect.stringMatching(/./u), audio_ms: 3_099 });
  const client = await clients.openStream();
  await speak(client);
  expect(await finalText(client)).toBe(body['text']);
});

test('two replicas are one service: what one does, the other knows', async () => {
  const origins = await replicas();
  expect(origins).toHaveLength(2);
  const client = await clients.openStream();
  // To a replica itself, as haproxy does.
  for (const origin of [...origins, compose.origin]) {
    expect(await clients.transcribe(origin)).toMatchObject({ status: 409, body: { error: 'busy' } });
  }
  await finalText(client);
  for (const origin of origins) expect(await clients.transcribe(origin)).toMatchObject({ status: 200 });
});

test('whoever comes by the published port is this machine; a replica itself knows nobody', async () => {
  const [inside = ''] = await compose.containers('inference');
  const ask = (host: string, address: string): Promise<string> => {
    const headers = { authorization: `Bearer ${compose.token}`, 'x-forwarded-for': address };
    return docker(
      ...['exec', inside, 'node', '-e'],
      `fetch('http://${host}:${compose.port}/readyz', { headers: ${JSON.stringify(headers)} })
         .then(async (response) => console.log(response.status, await response.text()))`,
    );
  };
  // What a client says of its own address counts for nothing.
  expect(await ask('haproxy', '203.0.113.9')).toMatch(/^200 /);
  expect(await ask('api', '203.0.113.9')).toMatch(/^403 .*"forbidden"/);
  const [replica = ''] = await replicas();
  expect((await fetch(`${replica}/readyz`)).status).toBe(403);
});

test("this machine's browsers may open the stream, on whatever port", async () => {
  for (const origin of [compose.origin, `http://localhost:${compose.port}`]) {
    const client = await clients.openStream({ origin });
    await finalText(client);
  }
  const url = `${compose.origin.replace('http', 'ws')}/ws/asr`;
  expect(await StreamClient.refused(url, { origin: 'http://elsewhere.example' })).toMatchObject({
    status: 403,
  });
});

test('the documents name the address that was called, and no header changes that', async () => {
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'elsewhere.example' };
  const reference = await fetch(`${compose.origin}/api-reference.md`, { headers });
  expect(await reference.text()).toContain(`The address of this service is \`${compose.origin}\``);
});

test('the profile monitoring is valid, and what it mounts is there', async () => {
  const config = await compose.compose('--profile', 'monitoring', 'config');
  const mounted = Array.from(config.matchAll(/\/deploy\/(?:prometheus|grafana)[\w./-]*/g), ([path]) => path);
  expect(mounted).toHaveLength(4);
  for (const path of mounted) expect(existsSync(join(packageRoot(), path)), path).toBe(true);
});

test('the images say what they are, how they are looked at and how they are stopped', async () => {
  const { version, license } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  for (const target of ['api', 'inference']) {
    const [image] = JSON.parse(await docker('image', 'inspect', `chinese-asr-${target}`));
    expect(image.Config).toMatchObject({
      User: '1000:1000',
      StopSignal: 'SIGTERM',
      Healthcheck: { Test: expect.arrayContaining(['CMD', 'node']) },
      Labels: {
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.revision': REVISION,
        'org.opencontainers.image.source': SOURCE,
        'org.opencontainers.image.licenses': license,
      },
    });
  }
});

test('the status is shown in a container, too', async () => {
  const [api = ''] = await compose.containers('api');
  const status = await docker('exec', api, 'node', 'dist/api/operations/status/main.js');
  expect(status).toMatch(/^slot +free\n[\s\S]*: ready, bundled [\s\S]*All is well\.$/);
});

test('nothing can be written, and nobody is root', async () => {
  const of = async (service: string): Promise<string> => (await compose.containers(service))[0] ?? '';
  for (const container of [await of('api'), await of('inference')]) {
    expect(await docker('exec', container, 'node', '-p', 'process.getuid()')).toBe('1000');
    const write = docker('exec', container, 'node', '-e', 'fs.writeFileSync("/tmp/x", "")');
    await expect(write).rejects.toThrow('EROFS');
  }
  const redis = await of('redis');
  // Asked outside: an image need not have `id`.
  expect(await docker('top', redis, '-eo', 'pid,uid')).toMatch(/\n *\d+ +999$/);
  expect(await docker('exec', redis, 'redis-cli', 'CONFIG', 'GET', 'save')).toBe('save');
  expect(await docker('exec', redis, 'redis-cli', 'CONFIG', 'GET', 'appendonly')).toMatch(/no$/);
});

test('no container can take all memory, all processes, or the disk for its log', async () => {
  for (const service of ['redis', 'inference', 'api', 'haproxy']) {
    const [container = ''] = await compose.containers(service);
    const host = JSON.parse(await docker('inspect', '--format', '{{json .HostConfig}}', container));
    expect(host, service).toMatchObject({
      CapDrop: ['ALL'],
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
    });
    expect(host.Memory, service).toBeGreaterThan(200 * 1024 * 1024);
    expect(host.PidsLimit, service).toBeGreaterThanOrEqual(512);
  }
});

test('replicas that are stopped finish their stream first; the last one goes on without one failure', async () => {
  await compose.compose('up', '--detach', '--no-build', '--scale', 'api=4', '--no-recreate');
  const containers = await compose.containers('api');
  expect(containers).toHaveLength(4);
  await untilAllAreServing();

  const client = await clients.openStream();
  const speaking = speak(client);
  const active = await containerNamedIn(['api'], '{asr}:slot');
  const idle = containers.filter((id) => id !== active).slice(0, 2);
  const stopped = docker('stop', '--time', '60', active);
  const statuses = new Set<number | string>();
  const looking = new AbortController();
  const look = async (): Promise<void> => {
    while (!looking.signal.aborted) statuses.add(await clients.status(`${compose.origin}/readyz`));
  };
  // Side by side, so that one's tries don't lead the next one past what has ended.
  const looks = Array.from({ length: 4 }, look);
  // All at once, as Compose scales down: no request may meet one of them after the other until its tries are used up.
  await Promise.all(idle.map((id) => docker('kill', '--signal', 'TERM', id)));
  await speaking;
  expect(await finalText(client)).toMatch(/./u);
  await stopped;
  for (const container of [active, ...idle]) expect(await exitCodeOf(container)).toBe(0);
  expect(await clients.transcribe()).toMatchObject({ status: 200 });
  looking.abort();
  await Promise.all(looks);
  expect([...statuses]).toEqual([200]);
});

test('an inference process that is killed in a stream: the standby says the rest', async () => {
  const whole = (await clients.transcribe()).body['text'];
  await compose.compose('--profile', 'standby', 'up', '--detach', '--no-build', '--no-recreate');
  await vi.waitFor(async () => expect(await readyInferences()).toBe(2), 30_000);
  const client = await clients.openStream();
  const { session_id: sessionId } = await client.message('ready');
  const speaking = speak(client, REAL_TIME_MS);
  await client.message('partial');
  await docker('kill', await containerNamedIn(INFERENCES, `{asr}:session:${sessionId}:lease`));
  await speaking;
  expect(await finalText(client)).toBe(whole);
});

/** Processes that say of themselves that they are ready. */
async function readyInferences(): Promise<number> {
  const [redis = ''] = await compose.containers('redis');
  const keys = await docker('exec', redis, 'redis-cli', '--raw', 'KEYS', '{asr}:inference:*');
  const states = await docker('exec', redis, 'redis-cli', '--raw', 'MGET', ...keys.split('\n'));
  return states.split('\n').filter((state) => state.includes('"ready"')).length;
}

test('stopping everything lets the active stream end well', async () => {
  const names = ['haproxy', 'api', ...INFERENCES, 'redis'];
  const containers = (await Promise.all(names.map((name) => compose.containers(name)))).flat();
  const client = await clients.openStream();
  const speaking = speak(client);
  const stopped = compose.compose('--profile', 'standby', 'stop');
  await speaking;
  expect(await finalText(client)).toMatch(/./u);
  await stopped;
  for (const container of containers) expect(await exitCodeOf(container)).toBe(0);
});
