import { expect, onTestFinished, test } from 'vitest';
import { wavFile } from '../../../support/audio/wav.ts';
import { testFolder } from '../../../support/machine/folders.ts';
import { type Relay, startRelay } from '../../../support/machine/relay.ts';
import { leastUser, startRedis, type TestRedis } from '../../../support/redis/redis.ts';
import { AUTHORIZED, openStream, startApi, type TestApi, upload } from '../../../support/service/api.ts';
import { startInference } from '../../../support/service/inference.ts';
import { scriptedPcm } from '../../../support/service/scripted-recognizer.ts';

const get = async (api: TestApi, path: string): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(api.origin + path, { headers: AUTHORIZED });
  return { status: response.status, body: await response.json() };
};
const wav = wavFile(scriptedPcm(0.5));

test('a Redis that persists is warned about', async () => {
  const folder = testFolder();
  const persisting = await startRedis(['--dir', folder, '--appendonly', 'yes']);
  onTestFinished(() => persisting.stop());
  const api = await startApi(persisting.url);
  onTestFinished(() => api.stop());
  const warning = await api.logged((line) => line['level'] === 40);
  expect(warning['msg']).toContain('appendonly yes');
});

async function twoBehindOneAddress(): Promise<{ old: TestRedis; next: TestRedis; relay: Relay }> {
  const [old, next] = [await startRedis(), await startRedis()];
  onTestFinished(() => old.stop());
  onTestFinished(() => next.stop());
  const relay = await startRelay(old.port);
  onTestFinished(() => relay.stop());
  return { old, next, relay };
}

test('a master that became a replica is left by every connection for the one behind the same address', async () => {
  const { old, next, relay } = await twoBehindOneAddress();
  const inference = await startInference(next.url);
  onTestFinished(() => inference.stop());
  const api = await startApi(`redis://127.0.0.1:${relay.port}`);
  onTestFinished(() => api.stop());
  await old.client.replicaof('127.0.0.1', next.port);
  relay.to(next.port);
  await expect.poll(async () => (await upload(api.origin, wav)).status, { timeout: 10_000 }).toBe(200);
  await expect
    .poll(async () => String(await old.client.client('LIST')).match(/ name=asr-api:\w+/g))
    .toBeNull();
});

test('also one that gets nothing from it any more, while nothing but the health is asked for', async () => {
  const { old, next, relay } = await twoBehindOneAddress();
  const inference = await startInference(`redis://127.0.0.1:${relay.port}`);
  onTestFinished(() => inference.stop());
  const api = await startApi(`redis://127.0.0.1:${relay.port}`);
  onTestFinished(() => api.stop());
  expect((await get(api, '/readyz')).status).toBe(200);
  await old.client.replicaof('127.0.0.1', 1);
  relay.to(next.port);
  const asked = async () => (await get(api, '/readyz')).status;
  // Between the two it may say 503, for as long as it connects: that can be shorter than a look.
  const left = async () =>
    (await asked()) && String(await old.client.client('LIST')).match(/ name=asr-api:\w+/g);
  await expect.poll(left, { timeout: 10_000 }).toBeNull();
  await expect.poll(asked, { timeout: 10_000 }).toBe(200);
  expect((await upload(api.origin, wav)).status).toBe(200);
});

test('a user with the permissions that README names is enough', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const inference = await startInference(redis.url);
  onTestFinished(() => inference.stop());
  const api = await startApi(await leastUser(redis));
  onTestFinished(() => api.stop());
  expect(await upload(api.origin, wav)).toMatchObject({ status: 200 });
  const client = await openStream(api.wsUrl);
  client.end();
  await client.message('final');
  expect(api.log.filter((line) => Number(line['level']) > 40)).toEqual([]);
});
