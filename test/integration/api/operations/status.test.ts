import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type CommandContext, runStatus } from '../../../../api/operations/status/command.ts';
import { privateRedisUrl, showPrivateRedis } from '../../../../common/redis/private-redis.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { testFolder } from '../../../support/machine/folders.ts';
import { startRedis } from '../../../support/redis/redis.ts';
import { openStream, upload } from '../../../support/service/api.ts';
import { scriptedPcm } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});
afterEach(() => service.redis.client.del('{asr}:slot'));
afterAll(() => service.stop());

async function status(args: readonly string[], context: Partial<CommandContext> = {}) {
  const lines: string[] = [];
  const code = await runStatus(args, {
    env: { REDIS_URL: service.redis.url, npm_lifecycle_event: 'status' },
    print: (line) => lines.push(line),
    complain: (line) => lines.push(line),
    ...context,
  });
  return { code, text: lines.join('\n'), lines };
}

test('a service that is well, for a person and for a script', async () => {
  const { code, text } = await status([]);
  expect(text).toMatch(
    /^slot {9}free\nqueue {8}0 waiting, 0 active, .*\nrecognizers .*: ready, scripted \(zipformer2-ctc, cpu\)/,
  );
  expect(text).toMatch(/\nredis {8}\d+\.\d+\.\d+, \d+\.\d MiB, writes to no disk\n\nAll is well\.$/);
  expect(code).toBe(0);
  const json = await status(['--json']);
  expect(json.code).toBe(0);
  expect(JSON.parse(json.text)).toMatchObject({
    slot: null,
    queue: { waiting: 0, active: 0, failed: 0 },
    recognizers: [{ state: 'ready', model: 'scripted', heartbeatAgeMs: expect.any(Number) }],
    redis: { persists: false },
    findings: [],
  });
});

test('an upload that the model failed on, for a minute', async () => {
  service.inference.recognizer.failNextCall();
  const { status: answered } = await upload(service.api.origin, wavFile(scriptedPcm(0.5)));
  expect(answered).toBe(500);
  const { redis } = service;
  await expect.poll(() => redis.client.zcard('{asr}:uploads:failed')).toBe(1);
  await expect.poll(() => redis.keys('{asr}:upload:*')).toEqual([]);
  const { code, text } = await status([]);
  expect(text).toContain('1 failed within a minute');
  expect(text).toContain('uploads that failed within the last minute: 1');
  expect(code).toBe(1);

  const [id] = await redis.client.zrange('{asr}:uploads:failed', 0, '0');
  await redis.client.hset(`{asr}:uploads:${id}`, 'finishedOn', Date.now() - 60_001);
  expect((await status([])).text).toContain('0 failed within a minute');
});

/** A stream whose first update is held, with 0.3 s behind it. */
async function heldStream() {
  const gate = service.inference.recognizer.hold();
  const client = await openStream(service.api.wsUrl);
  const { session_id: id } = await client.message('ready');
  client.send(scriptedPcm(0.8));
  await gate.entered;
  return { gate, client, id };
}

test('the active stream: who has the slot, and how much of it waits', async () => {
  const { gate, client, id } = await heldStream();
  await expect.poll(async () => (await status([])).text).toContain('backlog 0.3 s');
  const { text, code } = await status([]);
  expect(text).toMatch(/^slot {9}taken by a stream for \d+\.\d s, free in [1-5]\.\d s if nobody renews it/);
  expect(text).toContain(`id ${id}, replica `);
  expect(code).toBe(0);
  gate.release();
  client.end();
  await client.message('final');
});

test('a Redis that is gone', async () => {
  const gone = await startRedis();
  await gone.stop();
  const { code, text } = await status(['--json'], { env: { REDIS_URL: gone.url } });
  expect(JSON.parse(text)).toEqual({ findings: [expect.objectContaining({ wrong: 'it does not answer' })] });
  expect(code).toBe(1);
});

test.each([
  [['--bogus'], 64, /^status: Unknown option '--bogus'\nnpm run status -- \[--json\]/],
  [['free'], 64, /^status: Unexpected argument 'free'\nnpm run status/],
  [
    ['--help'],
    0,
    /^npm run status -- .*\nIn a container: docker compose exec api node dist\/api\/operations\/status\/main\.js$/s,
  ],
] as const)('%j', async (args, code, text) => {
  const said = await status(args);
  expect(said.code).toBe(code);
  expect(said.text).toMatch(text);
});

test('the private Redis of npm start is found by a file that this user alone can read, while that runs', () => {
  const path = testFolder();
  expect(privateRedisUrl(path)).toBeUndefined();
  // No process has this id (Linux has 2^22 at most).
  writeFileSync(join(path, 'private-redis-99999999'), 'redis://gone');
  writeFileSync(join(path, 'setup.lock'), '');
  expect(privateRedisUrl(path)).toBeUndefined();
  const hide = showPrivateRedis('redis://here', path);
  expect(privateRedisUrl(path)).toBe('redis://here');
  expect(statSync(join(path, `private-redis-${process.pid}`)).mode & 0o777).toBe(0o600);
  expect(readdirSync(path).sort()).toEqual([`private-redis-${process.pid}`, 'setup.lock']);
  hide();
  expect(privateRedisUrl(path)).toBeUndefined();
});
