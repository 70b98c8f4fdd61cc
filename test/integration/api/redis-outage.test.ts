import { expect, onTestFinished, test } from 'vitest';
import { createServices } from '../../../api/services.ts';
import { readApiConfig } from '../../../common/config/config.ts';
import { createLogger } from '../../../common/process/log.ts';
import { whenReady } from '../../../common/redis/connection.ts';
import { SLOT_TTL_MS } from '../../../common/slot/slot.ts';
import { wavFile } from '../../support/audio/wav.ts';
import { StreamClient } from '../../support/clients/stream-client.ts';
import { startRelay } from '../../support/machine/relay.ts';
import { startRedis } from '../../support/redis/redis.ts';
import { AUTHORIZED, openStream, startApi, type TestApi, TOKEN, upload } from '../../support/service/api.ts';
import { startInference } from '../../support/service/inference.ts';
import { scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { TestService } from '../../support/service/service.ts';

async function service(): Promise<TestService> {
  const started = await TestService.start();
  onTestFinished(() => started.stop());
  return started;
}

const get = async (api: TestApi, path: string): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(api.origin + path, { headers: AUTHORIZED });
  return { status: response.status, body: await response.json() };
};
const wav = wavFile(scriptedPcm(0.5));

test('without Redis: alive, not ready, uploads 503, streams not_ready 1011; then back by itself, on an empty Redis', async () => {
  const { redis, api } = await service();
  expect(await upload(api.origin, wav)).toMatchObject({ status: 200 });
  await redis.kill();
  await api.logged((line) => String(line['msg']).startsWith('Redis is away'));
  expect(await get(api, '/healthz')).toEqual({ status: 200, body: { status: 'alive' } });
  expect(await get(api, '/readyz')).toEqual({
    status: 503,
    body: { status: 'loading', busy: false, error: 'StoreUnavailable' },
  });
  expect(await upload(api.origin, wav)).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
  client.start();
  expect(await client.message('error')).toMatchObject({ code: 'not_ready' });
  expect(await client.closed()).toBe(1011);

  await redis.restart();
  await api.logged((line) => line['msg'] === 'Redis is back');
  await expect.poll(async () => (await get(api, '/readyz')).status, { timeout: 5_000 }).toBe(200);
  expect(await upload(api.origin, wav)).toMatchObject({
    status: 200,
    body: { text: scriptedText(scriptedPcm(0.5)) },
  });
  const next = await openStream(api.wsUrl);
  next.end();
  await next.message('final');
  // The queue's settings are there again.
  expect(await redis.client.hget('{asr}:uploads:meta', 'opts.maxLenEvents')).toBe('100');
  expect(api.log.filter((line) => String(line['msg']).startsWith('Redis is away'))).toHaveLength(1);
});

test.each([
  ['in the middle of a stream', false],
  ['behind the end of a stream, with nothing more to send it', true],
])('Redis dies %s: not_ready, 1011', async (_, atEnd) => {
  const { redis, api, inference } = await service();
  const client = await openStream(api.wsUrl);
  const { session_id } = await client.message('ready');
  const gate = inference.recognizer.hold();
  client.audio(scriptedPcm(0.1));
  if (atEnd) {
    client.end();
    await gate.entered;
    expect(await redis.client.xlen(`{asr}:session:${session_id}:audio`)).toBe(3);
  }
  await redis.kill();
  gate.release();
  expect(await client.message('error')).toMatchObject({ code: 'not_ready' });
  expect(await client.closed()).toBe(1011);
  // So that what the replica still wants to free has an answer.
  await redis.restart();
});

test('a stream that ends while its replica has lost Redis for a moment frees the slot then', async () => {
  const { redis } = await service();
  const relay = await startRelay(redis.port);
  onTestFinished(() => relay.stop());
  const api = await startApi(`redis://127.0.0.1:${relay.port}`);
  onTestFinished(() => api.stop());
  const client = await openStream(api.wsUrl);
  relay.cut();
  await api.logged((line) => String(line['msg']).startsWith('Redis is away'));
  // Nothing but its replica frees it in time.
  await redis.client.pexpire('{asr}:slot', 60_000);
  client.terminate();
  await api.logged((line) => line['msg'] === 'stream session');
  relay.to(redis.port);
  await expect.poll(() => redis.keys('{asr}:slot'), { timeout: 5_000 }).toEqual([]);
});

test('an end that a failover lost is said again: the stream has its final, and not 40 s later a timeout', async () => {
  const { redis, api, inference } = await service();
  const client = await openStream(api.wsUrl);
  const { session_id } = await client.message('ready');
  const gate = inference.recognizer.hold();
  const pcm = scriptedPcm(0.5);
  client.send(pcm);
  await gate.entered;
  const audio = `{asr}:session:${session_id}:audio`;
  const [before, entries] = [await redis.client.dumpBuffer(audio), await redis.client.xlen(audio)];
  client.end();
  await expect.poll(() => redis.client.xlen(audio)).toBe(entries + 1);
  // What the new master has.
  await redis.client.restore(audio, 60_000, before ?? '', 'REPLACE');
  gate.release();
  expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm), audio_ms: 500 });
});

test('a stream whose results cannot be read where they are waited for goes on, and has its final', async () => {
  const { redis, api } = await service();
  const client = await openStream(api.wsUrl);
  // The one connection is gone, and Redis takes no other in its place.
  const connections = String(await redis.client.client('LIST')).split('\n');
  const reader = connections.find((line) => line.includes('name=asr-api:results:'));
  await redis.client.config('SET', 'maxclients', 1);
  await redis.client.client('KILL', 'ID', Number(/id=(\d+)/.exec(reader ?? '')?.[1]));
  const pcm = scriptedPcm(3);
  for (let sent = 0; sent < pcm.length; ) {
    for (let frame = 0; frame < 5; frame += 1, sent += 3_200) client.audio(pcm.subarray(sent, sent + 3_200));
    const partials = (): number => client.received.filter(({ type }) => type === 'partial').length;
    await expect.poll(partials, { interval: 5, timeout: 3_000 }).toBe(sent / 16_000);
  }
  client.end();
  expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm), audio_ms: 3_000 });
  expect(await client.closed()).toBe(1000);
  await redis.client.config('SET', 'maxclients', 10_000);
});

test('Redis dies during an upload and comes back empty: not_ready, and the next upload is recognized', async () => {
  const { redis, api, inference } = await service();
  const gate = inference.recognizer.hold();
  const answer = upload(api.origin, wav);
  await gate.entered;
  await redis.kill();
  gate.release();
  await redis.restart();
  expect(await answer).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  await expect.poll(async () => (await upload(api.origin, wav)).status, { timeout: 8_000 }).toBe(200);
});

test('Redis dies during an upload and stays away: not_ready as soon as the slot cannot be the upload’s any more', async () => {
  const { redis, api, inference } = await service();
  const gate = inference.recognizer.hold();
  const answer = upload(api.origin, wav);
  await gate.entered;
  await redis.kill();
  const askedAt = performance.now();
  expect(await answer).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  expect(performance.now() - askedAt).toBeGreaterThan(SLOT_TTL_MS);
  gate.release();
  await redis.restart();
}, 20_000);

test('a Redis that stands still is not waited for: readyz and an upload say so within two seconds each', async () => {
  const { redis, api } = await service();
  await redis.pause();
  const askedAt = performance.now();
  expect((await get(api, '/readyz')).status).toBe(503);
  expect(await upload(api.origin, wav)).toMatchObject({ status: 503, body: { error: 'not_ready' } });
  expect(performance.now() - askedAt).toBeLessThan(4_000);
  await redis.resume();
  await expect.poll(async () => (await get(api, '/readyz')).status, { timeout: 8_000 }).toBe(200);
});

test.each(['http', 'ws'])(
  'a slot that Redis gave away without its answer in time is nobody’s, and free at once (%s)',
  async (via) => {
    const { redis, api } = await service();
    const client = await StreamClient.connect(api.wsUrl, AUTHORIZED);
    // Longer than a command is waited for. What is read, such as the readiness, is answered.
    await redis.client.client('PAUSE', 1_500, 'WRITE');
    if (via === 'ws') {
      client.start();
      expect(await client.message('error')).toMatchObject({ code: 'not_ready' });
    } else {
      expect(await upload(api.origin, wav)).toMatchObject({ status: 503, body: { error: 'not_ready' } });
    }
    // It would be taken for five seconds from the end of the pause on.
    await expect.poll(async () => (await upload(api.origin, wav)).status, { timeout: 3_000 }).toBe(200);
  },
);

test('all connections are in the database that REDIS_URL names, also after it was refused for a while', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const inference = await startInference(`${redis.url}/1`);
  onTestFinished(() => inference.stop());
  const api = await startApi(`${redis.url}/1`);
  onTestFinished(() => api.stop());
  const databases = async (): Promise<Record<string, string>> => {
    const clients = String(await redis.client.client('LIST')).matchAll(
      / name=(\S+) .* db=(\d+) .* cmd=(\S+)/g,
    );
    return Object.fromEntries([...clients].map(([, name, db, cmd]) => [cmd === 'bzpopmin' ? cmd : name, db]));
  };
  const rightOnes = {
    'asr-inference-commands': '1',
    'asr-inference-blocking': '1',
    'asr-inference-bullmq': '1',
    bzpopmin: '1',
  };
  await expect.poll(databases, { timeout: 5_000 }).toMatchObject(rightOnes);
  await redis.client.call('ACL', 'SETUSER', 'default', '-select');
  await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  const refusals = async (): Promise<number> =>
    Number(/errorstat_NOPERM:count=(\d+)/.exec(await redis.client.info('errorstats'))?.[1] ?? 0);
  await expect.poll(refusals, { timeout: 10_000 }).toBeGreaterThan(20);
  await redis.client.call('ACL', 'SETUSER', 'default', '+select');
  await expect.poll(databases, { timeout: 10_000 }).toMatchObject(rightOnes);
  expect(Object.values(await databases())).not.toContain('0');
});

test('an api that starts before Redis serves, and is ready when Redis is', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  await redis.kill();
  const api = await startApi(redis.url, {}, { waitForRedis: false });
  onTestFinished(() => api.stop());
  expect((await get(api, '/readyz')).status).toBe(503);
  await redis.restart();
  const inference = await startInference(redis.url);
  onTestFinished(() => inference.stop());
  await expect.poll(async () => (await get(api, '/readyz')).status, { timeout: 8_000 }).toBe(200);
  expect(await upload(api.origin, wav)).toMatchObject({ status: 200 });
});

test('the queue takes jobs also when its first connection was made anew while it was made', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const config = readApiConfig({ REDIS_URL: redis.url, ASR_API_TOKEN: TOKEN });
  const services = createServices(config, createLogger('silent', 'api'));
  onTestFinished(async () => {
    for (const step of services.closing) await step.run();
  });
  services.redis.disconnect(true);
  expect(await whenReady(services.redis, 5_000)).toBe(true);
  const job = await services.queue.add('transcribe', { id: 'a', holder: 'nobody', fence: 1 }, { jobId: 'a' });
  expect(job.id).toBe('a');
});

test('a Redis that refuses the commands of a user is one line in the log while /readyz is asked, and one when it takes them', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  await redis.client.call('ACL', 'SETUSER', 'other', 'on', '>secret', '~{other}*', '+@all');
  const api = await startApi(redis.url.replace('//', '//other:secret@'));
  onTestFinished(() => api.stop());
  const asked = async () => (await get(api, '/readyz')).body;
  const refused = { status: 'loading', busy: false, error: 'StoreUnavailable' };
  for (const _ of [1, 2]) expect(await asked()).toEqual(refused);
  await api.logged((line) => line['msg'] === 'Redis refuses');
  await redis.client.call('ACL', 'SETUSER', 'other', '~{asr}*');
  await expect.poll(asked).toEqual({ status: 'loading', busy: false });
  await api.logged((line) => line['msg'] === 'Redis works again');
  expect(api.log.filter((line) => String(line['msg']).startsWith('Redis'))).toMatchObject([
    {
      msg: 'Redis refuses',
      error: expect.stringContaining('NOPERM'),
      todo: expect.stringContaining('allow'),
    },
    { msg: 'Redis works again' },
  ]);
  expect(await api.logged((line) => line['route'] === '/readyz')).toMatchObject({
    status: 503,
    code: 'not_ready',
  });
});
