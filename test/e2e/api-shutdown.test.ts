import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { fullPipe } from '../support/machine/full-pipe.ts';
import { startRelay } from '../support/machine/relay.ts';
import { startRedis, type TestRedis } from '../support/redis/redis.ts';
import { openStream } from '../support/service/api.ts';
import { ProcessUnderTest, ScriptedProcess } from '../support/service/inference-process.ts';
import { sendPaced, startApiProcess, untilReady } from '../support/service/real-service.ts';
import { scriptedPcm, scriptedText } from '../support/service/scripted-recognizer.ts';

/** What ends a replica that is started by hand or by a service manager: a signal. */
let redis: TestRedis;
let inference: ScriptedProcess;

beforeAll(async () => {
  redis = await startRedis();
  inference = await ScriptedProcess.start(redis.url);
}, 20_000);
afterAll(async () => {
  await inference.stop();
  await redis.stop();
});

test.each([
  ['SIGINT', 1],
  ['SIGHUP', 1],
  // Longer than most programs take to end.
  ['SIGTERM', 11],
] as const)(
  '%s: no new connection, a recording of %i s under way gets its final, exit code 0',
  async (signal, seconds) => {
    const api = await startApiProcess({ REDIS_URL: redis.url });
    await untilReady(api.origin);
    const client = await openStream(api.wsUrl);
    const pcm = scriptedPcm(seconds);
    client.audio(pcm.subarray(0, 3_200));
    api.process.kill(signal);
    await expect.poll(() => api.process.logged('shutting down')).toMatchObject([{ reason: signal }]);
    const answer = () =>
      fetch(`${api.origin}/healthz`).then(
        ({ status }) => status,
        () => 'refused',
      );
    await expect.poll(answer).toBe('refused');
    await sendPaced(client, pcm.subarray(3_200), 3_200, 100);
    client.end();
    expect((await client.message('final'))['text']).toBe(scriptedText(pcm));
    expect(await client.closed()).toBe(1000);
    expect(await api.process.exited).toEqual({ code: 0, signal: null });
  },
  30_000,
);

test('a signal while it still waits for Redis: it does not begin to listen any more, exit code 0', async () => {
  const relay = await startRelay(redis.port);
  onTestFinished(() => relay.stop());
  const held = relay.hold();
  const api = new ProcessUnderTest('api/main.js', {
    ASR_API_TOKEN: 'a-token-of-this-test',
    ASR_PORT: '0',
    ASR_LOG_LEVEL: 'debug',
    REDIS_URL: `redis://127.0.0.1:${relay.port}`,
  });
  onTestFinished(() => api.stop());
  await held;
  await expect.poll(() => api.logged('waiting for Redis'), { interval: 5, timeout: 5_000 }).toHaveLength(1);
  api.kill('SIGTERM');
  await expect.poll(() => api.logged('shutting down'), { interval: 5 }).toHaveLength(1);
  relay.to(redis.port);
  expect(await api.exited).toEqual({ code: 0, signal: null });
  expect(api.logged('serving')).toEqual([]);
  expect(api.stderr).toBe('');
}, 20_000);

test('a reader of the log that stands still does not keep a replica from serving and from ending', async () => {
  const log = fullPipe();
  const port = await freePort();
  const api = spawn(process.execPath, [join(packageRoot(), 'dist/api/main.js')], {
    env: { REDIS_URL: redis.url, ASR_API_TOKEN: 'a-token-of-this-test', ASR_PORT: String(port) },
    stdio: ['ignore', log, 'inherit'],
  });
  const ended = once(api, 'exit');
  const alive = () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok);
  await expect.poll(() => alive().catch(() => false), { timeout: 10_000 }).toBe(true);
  api.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGKILL']);
}, 20_000);
