import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { addressOf, docker } from './compose.ts';

const NODE_IMAGE = 'node:24-bookworm-slim';
const HAPROXY_IMAGE = 'haproxy:3.0-alpine';
const SERVICE_PORT = 8_088;
/** Longer than the 30 s for which haproxy keeps an unconfirmed address when it isn't told otherwise. */
const SILENCE_MS = 36_000;
const QUESTIONS_BEFORE_SILENCE = 5;

/**
 * A replica that answers everything, beside the engine's name server, which gives this container's address a
 * few times and then nothing more.
 */
const REPLICA_AND_NAME_SERVER = `
  const [{ address }] = Object.values(os.networkInterfaces()).flat().filter((each) => !each.internal);
  http.createServer((_, response) => response.end('alive')).listen(${SERVICE_PORT});
  const server = dgram.createSocket('udp4');
  let questions = 0;
  server.on('message', (query, peer) => {
    if (++questions > ${QUESTIONS_BEFORE_SILENCE}) return;
    const question = query.subarray(0, query.indexOf(0, 12) + 5);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]);
    question.writeUInt32BE(0x81800001, 2);
    question.writeUInt32BE(0x00010000, 6);
    question.writeUInt16BE(0, 10);
    server.send(Buffer.concat([question, answer]), peer.port, peer.address);
    if (questions === ${QUESTIONS_BEFORE_SILENCE}) console.log('silent');
  });
  server.bind(53);
`;

const containers: string[] = [];
let folder: string | undefined;

afterEach(async () => {
  if (containers.length > 0) await docker('rm', '--force', ...containers);
  if (folder !== undefined) await rm(folder, { recursive: true });
});

async function start(...args: string[]): Promise<string> {
  const id = await docker('run', '--detach', ...args);
  containers.push(id);
  return id;
}

test('an engine that names nobody for a while takes away no replica that answers', async () => {
  const port = await freePort();
  const replica = await start(NODE_IMAGE, 'node', '-e', REPLICA_AND_NAME_SERVER);
  folder = await mkdtemp(join(tmpdir(), 'asr-haproxy-'));
  const config = await readFile(join(packageRoot(), 'deploy/haproxy/haproxy.cfg'), 'utf8');
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, config.replace('127.0.0.11:53', `${await addressOf(replica)}:53`));
  await start(
    ...['--volume', `${file}:/usr/local/etc/haproxy/haproxy.cfg:ro`, '--env', `ASR_PORT=${SERVICE_PORT}`],
    ...['--publish', `127.0.0.1:${port}:${SERVICE_PORT}`, HAPROXY_IMAGE],
  );
  const ask = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
  await vi.waitFor(async () => expect(await docker('logs', replica)).toBe('silent'), 20_000);
  await vi.waitFor(async () => expect(await ask()).toBe('alive'), 10_000);

  const until = Date.now() + SILENCE_MS;
  while (Date.now() < until) {
    expect(await ask()).toBe('alive');
    await sleep(500);
  }
});
