import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../launch/supervisor/ports.ts';
import { eventually } from '../support/machine/eventually.ts';
import { startRedis } from '../support/redis/redis.ts';
import { startApiProcess, startInferenceProcess } from '../support/service/real-service.ts';
import { temporaryFolder } from '../support/tools/tool.ts';
import { containersOf, read } from './kubernetes-files.ts';

const CONTAINERS = ['api', 'inference', 'redis'].flatMap((name) => containersOf(`kubernetes/${name}.yaml`));
const folder = temporaryFolder();
afterAll(() => folder.remove());

const nowhere = async () => ({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` });

/** Carries out a container's liveness probe, with `more` arguments behind its program's name. */
function isAlive(container: string, env: Readonly<Record<string, string>>, ...more: string[]): boolean {
  const { livenessProbe } = CONTAINERS.find(({ name }) => name === container) ?? {};
  const [program = '', ...args] = livenessProbe?.exec?.command ?? [];
  const file = program === 'node' ? process.execPath : program;
  const options = { env: { PATH: process.env['PATH'], ...env }, timeout: 5_000 };
  return spawnSync(file, [...more, ...args], options).status === 0;
}

test('each container has a probe that restarts it alone', () => {
  for (const { name, livenessProbe } of CONTAINERS)
    expect(livenessProbe, name).toMatchObject({ timeoutSeconds: 5, failureThreshold: 6 });
  const ready = CONTAINERS.filter(({ readinessProbe }) => readinessProbe);
  // The API's readiness is what is seen through its proxy.
  expect(ready.map(({ name }) => name)).toEqual(['proxy', 'inference', 'redis']);
});

test('the API lives without its proxy and without Redis', async () => {
  const { process, origin } = await startApiProcess(await nowhere());
  const env = { ASR_PORT: new URL(origin).port };
  expect(isAlive('api', env)).toBe(true);
  await process.stop();
  expect(isAlive('api', env)).toBe(false);
});

test('inference lives without Redis and without its model, also where it asks for a token', async () => {
  const env = { ASR_INFERENCE_ADMIN_PORT: String(await freePort()), ASR_ADMIN_TOKEN: 'x'.repeat(16) };
  const inference = startInferenceProcess({ ...env, ...(await nowhere()), ASR_MODEL: folder.path });
  await eventually(() => expect(inference.logged('serving metrics')).toHaveLength(1));
  expect(isAlive('inference', env)).toBe(true);
  await inference.stop();
  expect(isAlive('inference', env)).toBe(false);
});

test('Redis lives when it answers; an error is no answer', async () => {
  const redis = await startRedis(['--requirepass', 'secret']);
  const at = ['-p', String(redis.port)];
  expect(isAlive('redis', {}, ...at, '-a', 'secret')).toBe(true);
  expect(isAlive('redis', {}, ...at)).toBe(false);
  await redis.stop();
});

test('the proxy lives without its replica, and is not ready', async () => {
  const [port, alivePort] = [await freePort(), await freePort()];
  const config = read('kubernetes/haproxy.cfg')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('bind :8081', `bind 127.0.0.1:${alivePort}`)
    .replace('127.0.0.1:8088', `127.0.0.1:${await freePort()}`);
  const file = join(folder.path, 'haproxy.cfg');
  writeFileSync(file, config);
  const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  const { livenessProbe, readinessProbe, ports } = CONTAINERS.find(({ name }) => name === 'proxy') ?? {};
  expect(ports).toEqual([
    { name: 'http', containerPort: 8_080 },
    { name: 'alive', containerPort: 8_081 },
  ]);
  expect([livenessProbe?.httpGet?.port, readinessProbe?.httpGet?.port]).toEqual(['alive', 'http']);
  const alive = () => fetch(`http://127.0.0.1:${alivePort}${livenessProbe?.httpGet?.path}`);
  await eventually(async () => expect((await alive()).status).toBe(200));
  const ready = await fetch(`http://127.0.0.1:${port}${readinessProbe?.httpGet?.path}`);
  expect(ready.status).toBe(503);
  haproxy.kill();
  await once(haproxy, 'exit');
});
