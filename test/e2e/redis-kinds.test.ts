import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { reasonOf, remedyFor } from '../../common/redis/advice/remedies.ts';
import { closeRedis, connectRedis } from '../../common/redis/connection.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { wavFile } from '../support/audio/wav.ts';
import { testFolder } from '../support/machine/folders.ts';
import { startCluster, startRedis, startSentinel } from '../support/redis/redis.ts';
import { openStream, upload } from '../support/service/api.ts';
import { type ProcessUnderTest, ScriptedProcess } from '../support/service/inference-process.ts';
import { startApiProcess, untilReady } from '../support/service/real-service.ts';
import { scriptedPcm, scriptedText } from '../support/service/scripted-recognizer.ts';

/** Every kind of Redis that REDIS_URL can name, with real servers and processes: an upload and a stream work through each. */
const cleanups: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startBoth(url: string, env: Record<string, string> = {}) {
  const inference = new ScriptedProcess(url, env);
  cleanups.push(() => inference.stop());
  const api = await startApiProcess({ REDIS_URL: url, ...env });
  cleanups.push(() => api.process.stop());
  return { inference, api };
}

/** @returns both kinds of process, which are left running */
async function expectToWork(url: string, env: Record<string, string> = {}): Promise<ProcessUnderTest[]> {
  const { inference, api } = await startBoth(url, env);
  await untilReady(api.origin);
  const pcm = scriptedPcm(1.7);
  const [wav, text] = [wavFile(pcm), scriptedText(pcm)];
  expect(await upload(api.origin, wav)).toMatchObject({ status: 200, body: { text } });
  const client = await openStream(api.wsUrl);
  client.send(pcm);
  client.end();
  expect((await client.message('final'))['text']).toBe(text);
  expect(await upload(api.origin, wav)).toMatchObject({ status: 200, body: { text } });
  return [inference, api.process];
}

test('redis:// with a password', async () => {
  const redis = await startRedis(['--requirepass', 'secret']);
  cleanups.push(() => redis.stop());
  await expectToWork(`redis://:secret@127.0.0.1:${redis.port}/2`);
}, 40_000);

test('a database that Redis does not have: not ready, one line says why, and no other database is used', async () => {
  const redis = await startRedis(['--databases', '1']);
  cleanups.push(() => redis.stop());
  const { inference, api } = await startBoth(`${redis.url}/1`);
  await expect
    .poll(() => inference.logged('model loaded'), { interval: 20, timeout: 20_000 })
    .toHaveLength(1);
  // Not as before a model is there: then it is the model that is not ready.
  expect(await upload(api.origin, wavFile(scriptedPcm(1)))).toMatchObject({
    status: 503,
    body: { error: 'not_ready', message: 'the service is not ready; try again shortly' },
  });
  for (const process of [api.process, inference])
    expect(process.logged('Redis refuses')).toMatchObject([
      { error: 'ERR DB index is out of range', todo: expect.stringContaining('/0') },
    ]);
  expect(await redis.keys()).toEqual([]);
}, 40_000);

test('rediss://: TLS', async () => {
  const folder = testFolder();
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const names = '-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1';
  const request = `req -x509 -newkey rsa:2048 -nodes -days 1 ${names} -keyout ${key} -out ${certificate}`;
  execFileSync('openssl', request.split(' '), { stdio: 'ignore' });
  const tlsPort = await freePort();
  const redis = await startRedis([
    ...['--tls-port', String(tlsPort), '--tls-auth-clients', 'no'],
    ...['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate],
  ]);
  cleanups.push(() => redis.stop());
  const url = `rediss://localhost:${tlsPort}`;
  await expectToWork(url, { NODE_EXTRA_CA_CERTS: certificate });

  const firstAdvice = async (address: string): Promise<string | undefined> => {
    const error = await new Promise<Error>((resolve) => {
      const client = connectRedis({ kind: 'single', url: address }, 'commands', 'test', resolve);
      cleanups.push(async () => closeRedis(client));
    });
    return remedyFor(reasonOf(error));
  };
  expect(await firstAdvice(url)).toContain('NODE_EXTRA_CA_CERTS');
  expect(await firstAdvice(url.replace('rediss:', 'redis:'))).toContain('begin REDIS_URL with rediss://');
  expect(await firstAdvice(redis.url.replace('redis:', 'rediss:'))).toContain('begin it with redis://');

  // Ended in the middle of a handshake: what goes wrong in it then is an error that somebody listens to.
  for (let count = 0; count < 40; count += 1) {
    const client = connectRedis({ kind: 'single', url }, 'blocking', 'test', () => undefined);
    if (!(client instanceof Redis)) throw new Error('not a single Redis');
    await once(client, 'connecting');
    await new Promise(setImmediate);
    await once(client.stream, 'connect');
    closeRedis(client);
    await new Promise((resolve) => client.once('end', resolve));
  }

  // As Redis has it of itself.
  await redis.client.config('SET', 'tls-auth-clients', 'yes');
  const api = await startApiProcess({ REDIS_URL: url, NODE_EXTRA_CA_CERTS: certificate });
  cleanups.push(() => api.process.stop());
  await expect
    .poll(() => api.process.logged('Redis refuses'), { interval: 20, timeout: 10_000 })
    .toMatchObject([{ todo: expect.stringContaining('--tls-auth-clients no') }]);
}, 40_000);

test('redis+sentinel://: the master that a Sentinel names, also when another one is down; one that is back is listened to', async () => {
  const redis = await startRedis();
  cleanups.push(() => redis.stop());
  const sentinel = await startSentinel([`monitor asr-master 127.0.0.1 ${redis.port} 1`]);
  cleanups.push(() => sentinel.stop());
  const down = await freePort();
  const processes = await expectToWork(
    `redis+sentinel://127.0.0.1:${down},127.0.0.1:${sentinel.port}/asr-master`,
  );
  // Of the api two connections, of inference three and BullMQ's own.
  const listeners = async (): Promise<number> =>
    String(await sentinel.client.client('LIST')).match(/ cmd=subscribe/g)?.length ?? 0;
  await expect.poll(listeners, { timeout: 10_000 }).toBe(6);
  await sentinel.restart();
  await expect.poll(listeners, { timeout: 10_000 }).toBe(6);
  for (const process of processes) expect(process.stderr).toBe('');
}, 40_000);

test('redis+cluster://: all keys on one slot', async () => {
  const redis = await startCluster();
  cleanups.push(() => redis.stop());
  await expectToWork(`redis+cluster://127.0.0.1:${redis.port}`);
}, 40_000);
